// The TypeScript SDK, first generation (@modelcontextprotocol/sdk 1.x): sessions of 2025-11-25.
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Provider, journey } from "./typescript_journey.mjs";

const [endpoint, document] = process.argv.slice(2);
const provider = new Provider("TypeScript agent 1", document);

function connect() {
  const transport = new StreamableHTTPClientTransport(new URL(endpoint), { authProvider: provider });
  const client = new Client({ name: "typescript-1", version: "1" }, { capabilities: {} });
  return {
    client, transport,
    open: () => client.connect(transport),
    close: async () => { await transport.terminateSession(); await client.close(); },
  };
}

await journey({
  provider, connect, UnauthorizedError,
  finish: (transport, answer) => transport.finishAuth(answer.get("code")),
  about: ({ transport }) => ({ protocol: transport.protocolVersion, hasSession: Boolean(transport.sessionId) }),
});
