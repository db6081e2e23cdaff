// The TypeScript SDK, second generation (@modelcontextprotocol/client 2.x): 2026-07-28 when asked, else sessions.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { Provider, journey } from "./typescript_journey.mjs";

const [endpoint, document, mode] = process.argv.slice(2);
const provider = new Provider("TypeScript agent 2", document);

function connect() {
  const transport = new StreamableHTTPClientTransport(new URL(endpoint), { authProvider: provider });
  const options = { capabilities: {}, versionNegotiation: { mode } };
  const client = new Client({ name: "typescript-2", version: "1" }, options);
  return {
    client, transport,
    open: () => client.connect(transport),
    close: async () => { if (transport.sessionId) await transport.terminateSession(); await client.close(); },
  };
}

await journey({
  provider, connect, UnauthorizedError,
  finish: (transport, answer) => transport.finishAuth(answer),
  about: ({ client, transport }) => ({
    protocol: client.getNegotiatedProtocolVersion(), hasSession: Boolean(transport.sessionId),
  }),
});
