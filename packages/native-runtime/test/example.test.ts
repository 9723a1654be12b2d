// A native driver of somebody else's, docs/examples/native-backend, built here: the kit, and memory that is not the host's.
import { conformanceTests } from '@quern/conformance';
import { slateDriver } from './slate.js';

await conformanceTests({ createDriver: () => slateDriver() }, { describe, test });
