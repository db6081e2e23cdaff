// What an agent does, for either generation of the TypeScript SDK: register, authorize, escalate, wait for the end.
// It speaks with the test in lines: it writes {"authorize": url} and reads where the owner's browser was sent.
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (value) => process.stdout.write(JSON.stringify(value) + "\n");

export class Provider {
  constructor(name, document) {
    this.name = name;
    this.document = document || undefined;
  }
  get redirectUrl() { return "http://localhost:8976/callback"; }
  get clientMetadataUrl() { return this.document; }
  get clientMetadata() {
    return {
      client_name: this.name,
      redirect_uris: [this.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    };
  }
  state() { return "state-of-the-test"; }
  clientInformation() { return this.information; }
  saveClientInformation(information) { this.information = information; }
  tokens() { return this.kept; }
  saveTokens(tokens) { this.kept = tokens; }
  codeVerifier() { return this.verifier; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  async redirectToAuthorization(url) {
    say({ authorize: url.toString() });
    this.answer = new URL(JSON.parse((await lines.next()).value).location);
  }
}

export async function journey({ provider, connect, UnauthorizedError, finish, about }) {
  let agent = connect();
  try {
    await agent.open();
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    await finish(agent.transport, provider.answer.searchParams);
    agent = connect();
    await agent.open();
  }
  const { client } = agent;
  const call = async (name, args) => (await client.callTool({ name, arguments: args })).structuredContent;
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  const refused = await client.callTool({ name: "cancel_alert", arguments: { alert_id: "A-ZZZZZZ" } });
  const started = await call("start_workflow", {
    workflow_id: "escalate", message: "Checkout is failing.", idempotency_key: "k-1",
  });
  say({ started: started.alert_id });
  // The access token is gone: the client refreshes by itself.
  provider.kept = { ...provider.kept, access_token: "lost" };
  const before = provider.kept.refresh_token;
  let alert;
  for (let tries = 0; tries < 100; tries += 1) {
    alert = (await call("get_alert_status", { alert_ids: [started.alert_id] })).alerts[0];
    if (alert.terminal) break;
    await new Promise((done) => setTimeout(done, 100));
  }
  say({
    ended: alert, tools, refused: refused.isError ? refused.structuredContent.error.code : null,
    rotated: provider.kept.refresh_token !== before, clientId: provider.information.client_id,
    issuer: provider.answer.searchParams.get("iss"), ...about(agent),
  });
  await agent.close();
  process.exit(0);
}
