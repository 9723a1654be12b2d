// A native driver of somebody else, docs/examples/native-backend, built from its sources: the kit, held by a device whose memory is
// not the host's. tools/packed builds it again from packed packages.
import { conformanceTests } from '@quern/conformance';
import { exhaustive } from '../../../test-scope.js';

if (exhaustive) {
  const { slateDriver } = await import('./slate.js');
  await conformanceTests({ createDriver: () => slateDriver() }, { describe, test });
} else test.skip('the kit on docs/examples/native-backend (npm run test:all compiles it)', () => {});
