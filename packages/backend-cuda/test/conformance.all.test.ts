// The conformance kit on the emulated device; in short where the run has drawn the other GPU.
import './emulated.js';
import { conformanceTests, knownCodecs } from '@quern/conformance';
import { isDrawn } from '../../../test-scope.js';
import { cudaDriver } from '../src/index.js';

const only = isDrawn(0) ? undefined : { suites: ['lifecycle', 'errors', 'graph', 'abort'] };

await conformanceTests(
  { createDriver: () => cudaDriver(), codecs: knownCodecs, ...(only && { only }) },
  { describe, test },
);
