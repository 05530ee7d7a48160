// Calls tools with the official TypeScript client, which checks results against the schemas it was told.
// Reads {base, servers: {name: [[tool, arguments], ...]}} from standard input; writes {name: [text or error, ...]}.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { text } from "node:stream/consumers";

const { base, servers } = JSON.parse(await text(process.stdin));
const found = {};
for (const [name, calls] of Object.entries(servers)) {
  const client = new Client({ name: "strict", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp/${name}`)));
  const { tools } = await client.listTools(); // the client keeps their schemas
  found[name] = { tools: tools.map((tool) => tool.name), replies: [] };
  for (const [tool, given] of calls) {
    try {
      const result = await client.callTool({ name: tool, arguments: given });
      found[name].replies.push({ text: result.content[0].text, failed: Boolean(result.isError) });
    } catch (error) {
      found[name].replies.push({ thrown: `${error}` });
    }
  }
  await client.close();
}
console.log(JSON.stringify(found));
