const aiProvider = require('@quern/ai-provider');
const core = require('@quern/core');
const demo = require('@quern/demo-model');
const hub = require('@quern/hub');
const reference = require('@quern/backend-reference');
const conformance = require('@quern/conformance');
const runtime = require('@quern/runtime');
const server = require('@quern/server');

async function main() {
  const { apiCases } = await import('./api.mjs');
  const { runCases } = await import('./run-cases.mjs');
  const { createBackend } = await import('@quern/backend-cpu');
  const other = { core: await import('@quern/core'), createBackend };
  const packages = {
    kind: 'cjs',
    aiProvider,
    core,
    conformance,
    demo,
    hub,
    reference,
    runtime,
    server,
    other,
  };
  await runCases(apiCases(packages, process.cwd()));
}
main();
