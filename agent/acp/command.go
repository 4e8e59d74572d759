package acp

import (
	"errors"
	"fmt"
	"strings"
)

// Command says how an agent is started.
type Command struct {
	Env  []string // NAME=VALUE, on top of what it inherits
	Argv []string
}

// ParseCommand reads a command as one types it: words separated by space, with
// 'single quotes', "double quotes" and backslashes as in a shell, and settings
// like NAME=VALUE in front of the program. Nothing is expanded: no variables, no
// patterns, no pipes; "sh -c '…'" has them.
func ParseCommand(text string) (Command, error) {
	words, err := splitWords(text)
	if err != nil {
		return Command{}, err
	}
	var c Command
	for len(words) > 0 && isSetting(words[0]) {
		c.Env = append(c.Env, words[0])
		words = words[1:]
	}
	if len(words) == 0 {
		return Command{}, errors.New("the command names no program")
	}
	c.Argv = words
	return c, nil
}

// isSetting reports whether a word is NAME=VALUE.
func isSetting(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	if !ok || name == "" || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	return strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// splitWords splits and unquotes.
func splitWords(text string) ([]string, error) {
	var words []string
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		if text == "" {
			return words, nil
		}
		word, rest, err := nextWord(text)
		if err != nil {
			return nil, err
		}
		words, text = append(words, word), rest
	}
}

// nextWord reads the word at the front of text, which begins with one.
func nextWord(text string) (word, rest string, err error) {
	var b strings.Builder
	for text != "" {
		switch text[0] {
		case ' ', '\t', '\r', '\n':
			return b.String(), text, nil
		case '\'':
			end := strings.IndexByte(text[1:], '\'')
			if end < 0 {
				return "", "", errors.New("a single quote is not closed")
			}
			b.WriteString(text[1 : 1+end])
			text = text[end+2:]
		case '"':
			n, err := quoted(&b, text[1:])
			if err != nil {
				return "", "", err
			}
			text = text[1+n:]
		case '\\':
			if len(text) < 2 {
				return "", "", errors.New("a backslash at the end escapes nothing")
			}
			b.WriteByte(text[1])
			text = text[2:]
		case 0:
			return "", "", fmt.Errorf("a command cannot hold a zero byte")
		default:
			b.WriteByte(text[0])
			text = text[1:]
		}
	}
	return b.String(), "", nil
}

// quoted reads up to the closing double quote and returns how much it read. A
// backslash escapes what a shell lets it escape there.
func quoted(b *strings.Builder, text string) (n int, err error) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return i + 1, nil
		case c == 0:
			return 0, errors.New("a command cannot hold a zero byte")
		case c == '\\' && i+1 < len(text) && strings.IndexByte("\"\\$`", text[i+1]) >= 0:
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return 0, errors.New("a double quote is not closed")
}
