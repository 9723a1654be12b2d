import { createRequire } from 'node:module';
import * as aiProvider from '@quern/ai-provider';
import * as cpu from '@quern/backend-cpu';
import * as reference from '@quern/backend-reference';
import * as conformance from '@quern/conformance';
import * as core from '@quern/core';
import * as demo from '@quern/demo-model';
import * as hub from '@quern/hub';
import * as runtime from '@quern/runtime';
import * as server from '@quern/server';
import { apiCases } from './api.mjs';
import { runCases } from './run-cases.mjs';

const require = createRequire(import.meta.url);
const other = { core: require('@quern/core'), createBackend: require('@quern/backend-cpu').createBackend };
const packages = {
  kind: 'esm',
  aiProvider,
  core,
  cpu,
  conformance,
  demo,
  hub,
  reference,
  runtime,
  server,
  other,
};
await runCases(apiCases(packages, process.cwd()));
