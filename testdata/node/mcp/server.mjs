// An MCP server made with the official TypeScript SDK: `server.mjs` speaks over stdio,
// `server.mjs http` serves streamable HTTP with sessions and prints its port.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

function makeServer() {
  const s = new McpServer({ name: 'peer', version: '1' }, { capabilities: { logging: {} }, instructions: 'be kind' });
  const text = (t) => ({ content: [{ type: 'text', text: t }] });
  s.registerTool('echo', { description: 'says it again', inputSchema: { text: z.string() } }, ({ text: t }) => text(t));
  s.registerTool('structured', { inputSchema: {}, outputSchema: { n: z.number() } }, () => ({ ...text('n'), structuredContent: { n: 1.5 }, _meta: { own: true } }));
  s.registerTool('fail', { inputSchema: {} }, () => { throw new Error('no such file'); });
  s.registerTool('steps', { inputSchema: {} }, async (_, extra) => {
    for (let i = 1; i <= 3; i++) {
      await extra.sendNotification({ method: 'notifications/progress', params: { progressToken: extra._meta?.progressToken, progress: i, total: 3 } });
      // A client handles what comes in one piece in an order of its own: wait for it.
      await extra.sendRequest({ method: 'ping' }, z.any());
    }
    return text('three steps');
  });
  let cancelled = 0;
  s.registerTool('wait', { inputSchema: { ms: z.number() } }, ({ ms }, extra) => new Promise((resolve) => {
    const timer = setTimeout(() => resolve(text('waited')), ms);
    extra.signal.addEventListener('abort', () => { cancelled++; clearTimeout(timer); resolve(text('cancelled')); });
  }));
  // Over HTTP a cancel and this call are requests of their own, in any order.
  s.registerTool('cancelled', { inputSchema: {} }, async () => {
    for (const until = Date.now() + 10_000; !cancelled && Date.now() < until;) await new Promise((next) => setTimeout(next, 10));
    return text(String(cancelled));
  });
  s.registerTool('ask', { inputSchema: {} }, async (_, extra) => {
    const answer = await extra.sendRequest({ method: 'sampling/createMessage', params: { messages: [{ role: 'user', content: { type: 'text', text: 'well?' } }], maxTokens: 5 } }, z.any());
    return text(answer.content.text);
  });
  s.registerPrompt('greet', { argsSchema: { name: z.string() } }, ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `hello ${name}` } }] }));
  s.registerResource('note', new ResourceTemplate('note://{id}', { list: undefined }), {}, (uri) => ({ contents: [{ uri: uri.href, text: 'a note' }] }));
  return s;
}

if (process.argv[2] === 'http') {
  const sessions = new Map();
  const server = createServer(async (req, res) => {
    let transport = sessions.get(req.headers['mcp-session-id']);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID(), onsessioninitialized: (id) => sessions.set(id, transport) });
      await makeServer().connect(transport);
    }
    await transport.handleRequest(req, res);
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
  process.stdin.on('end', () => process.exit(0)).resume();
} else {
  await makeServer().connect(new StdioServerTransport());
}
