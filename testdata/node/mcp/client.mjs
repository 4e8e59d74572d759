// A client made with the official TypeScript SDK. `client.mjs MODE stdio COMMAND...` starts
// a server, `client.mjs MODE http URL` connects to one. It prints one JSON object.
//   plain   knows nothing of notifications: what it sees must be the same with and without a gateway
//   notify  calls with a notificationConfig read from NOTIFICATION_CONFIG and stays
//   leave   the same, and leaves as soon as the call is acknowledged
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const [mode, kind, ...rest] = process.argv.slice(2);
const transport = kind === 'stdio'
  ? new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env, stderr: 'inherit' })
  : new StreamableHTTPClientTransport(new URL(rest[0]));
const client = new Client({ name: 'peer', version: '1' }, { capabilities: { sampling: {} } });
client.setRequestHandler(CreateMessageRequestSchema, () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'very' } }));
const heard = [];
let acknowledged;
const acknowledgement = new Promise((resolve) => { acknowledged = resolve; });
client.fallbackNotificationHandler = async (n) => { heard.push(n); if (n.method === 'notifications/config/acknowledged') acknowledged(n); };
await client.connect(transport);

const trial = async (what) => { try { return await what(); } catch (e) { return { error: { code: e.code, message: e.message, data: e.data } }; } };
const out = {};
if (mode === 'plain') {
  out.info = client.getServerVersion();
  out.instructions = client.getInstructions();
  const { notificationConfig, extensions, experimental, ...capabilities } = client.getServerCapabilities();
  out.capabilities = capabilities;
  out.tools = await client.listTools();
  const call = (name, args = {}, options) => trial(() => client.callTool({ name, arguments: args }, undefined, options));
  out.echo = await call('echo', { text: 'é <&> \u2028 🙂' });
  out.structured = await call('structured');
  out.fail = await call('fail');
  out.unknown = await call('nothing');
  out.wrong = await call('echo', { text: 7 });
  const progress = [];
  out.steps = await call('steps', {}, { onprogress: (p) => progress.push(p) });
  out.progress = progress;
  out.ask = await call('ask');
  const abort = new AbortController();
  const waiting = call('wait', { ms: 60000 }, { signal: abort.signal });
  await call('echo', { text: 'the call before has been sent' });
  abort.abort('enough');
  out.aborted = await waiting;
  out.cancelled = await call('cancelled');
  out.prompt = await trial(() => client.getPrompt({ name: 'greet', arguments: { name: 'you' } }));
  out.resource = await trial(() => client.readResource({ uri: 'note://1' }));
  out.method = await trial(() => client.request({ method: 'x/unknown', params: { a: 1 } }, CallToolResultSchema));
  out.ping = await trial(() => client.ping());
  out.heard = heard;
} else {
  const { tool, args, config } = JSON.parse(process.env.NOTIFICATION_CONFIG);
  const call = trial(() => client.request({ method: 'tools/call', params: { name: tool, arguments: args, notificationConfig: config } }, CallToolResultSchema));
  if (mode === 'leave') {
    out.acknowledgement = await acknowledgement;
  } else {
    out.result = await call;
    out.heard = heard;
    out.capability = client.getServerCapabilities().experimental?.notificationConfig;
  }
}
console.log(JSON.stringify(out));
await client.close();
process.exit(0);
