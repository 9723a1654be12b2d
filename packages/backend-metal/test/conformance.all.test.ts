// The conformance kit on the emulated device.
import './emulated.js';
import { conformanceTests, knownCodecs } from '@quern/conformance';
import { metalDriver } from '../src/index.js';

await conformanceTests({ createDriver: () => metalDriver(), codecs: knownCodecs }, { describe, test });
