// The conformance kit on the emulated device.
import './emulated.js';
import { conformanceTests } from '@quern/conformance';
import { cudaDriver } from '../src/index.js';

await conformanceTests({ createDriver: () => cudaDriver() }, { describe, test });
