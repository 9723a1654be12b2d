// The conformance kit on the emulated device, with the processors that the run draws; in short where it has drawn the other GPU.
import './emulated.js';
import { conformanceTests, knownCodecs } from '@quern/conformance';
import { emulatedProcessors, isDrawn } from '../../../test-scope.js';
import { cudaDriver } from '../src/index.js';

/** Of jest.environment.mjs. */
declare function setNativeEnvironment(name: string, value: string | undefined): void;

const before = process.env.QUERN_EMULATED_PROCESSORS;
setNativeEnvironment('QUERN_EMULATED_PROCESSORS', emulatedProcessors);
afterAll(() => setNativeEnvironment('QUERN_EMULATED_PROCESSORS', before));

const only = isDrawn(0) ? undefined : { suites: ['lifecycle', 'errors', 'graph', 'abort'] };

await conformanceTests(
  { createDriver: () => cudaDriver(), codecs: knownCodecs, ...(only && { only }) },
  { describe, test },
);
