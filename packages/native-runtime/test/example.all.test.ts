// A native driver of somebody else, docs/examples/native-backend, built from its sources: the kit, held by a device whose memory is
// not the host's. tools/packed builds it again from packed packages.
import { conformanceTests } from '@quern/conformance';
import { slateDriver } from './slate.js';

await conformanceTests({ createDriver: () => slateDriver() }, { describe, test });
