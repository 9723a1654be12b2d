// Conformance kit on docs/examples/native-backend, built from its sources: a third-party driver whose memory is not host
// memory. tools/packed builds the example again from packed packages.
import { conformanceTests } from '@quern/conformance';
import { slateDriver } from './slate.js';

await conformanceTests({ createDriver: () => slateDriver() }, { describe, test });
