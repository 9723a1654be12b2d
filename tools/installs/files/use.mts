// An application that uses types of every package an application imports.
import * as aiProvider from '@quern/ai-provider';
import * as backendCpu from '@quern/backend-cpu';
import '@quern/backend-cpu/register';
import * as backendCuda from '@quern/backend-cuda';
import * as backendMetal from '@quern/backend-metal';
import * as backendReference from '@quern/backend-reference';
import * as conformance from '@quern/conformance';
import { type Backend, QuernError } from '@quern/core';
import * as testing from '@quern/core/testing';
import { demoModelPath } from '@quern/demo-model';
import * as grammar from '@quern/grammar';
import * as hub from '@quern/hub';
import * as models from '@quern/models';
import * as nativeRuntime from '@quern/native-runtime';
import * as quant from '@quern/quant';
import { type Generation, loadModel, type Model } from '@quern/runtime';
import { createHandler } from '@quern/server';

async function main(): Promise<void> {
  const backend: Backend = await backendCpu.createBackend();
  const model: Model = await loadModel(demoModelPath, { backend });
  const generation: Generation = model.generate('Once', { maxTokens: 4 });
  for await (const piece of generation) console.log(piece.text satisfies string);
  const handler = createHandler({ models: { demo: model } });
  const response: Response = await handler.fetch(new Request('http://localhost/v1/models'));
  console.log(response.status, QuernError.name);
  model.dispose();
}

export const all = [
  aiProvider,
  backendCuda,
  backendMetal,
  backendReference,
  conformance,
  testing,
  grammar,
  hub,
  models,
  nativeRuntime,
  quant,
];
void main();
