// The conformance kit on the emulated device.
import './emulated.js';
import { conformanceTests, knownCodecs } from '@quern/conformance';
import { cudaDriver } from '../src/index.js';

await conformanceTests({ createDriver: () => cudaDriver(), codecs: knownCodecs }, { describe, test });
