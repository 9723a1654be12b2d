// A GPU without matrices of simdgroups, such as that of a hosted Mac, on the emulated device: other kernels take their work.
import './emulated.js';
import { knownCodecs, runConformance } from '@quern/conformance';
import { isDrawn } from '../../../test-scope.js';
import { withSettings } from '../../gpu/test/settings.js';
import { metalDriver } from '../src/index.js';

/** In short where the run has drawn the other GPU. */
const kinds = isDrawn(1) ? 'linear|expertLinear|moe|attention|uncachedAttention|conv1d' : 'linear';

test('products, mixtures and attention of the conformance kit', async () => {
  await withSettings({ QUERN_EMULATED_FAMILIES: '1005,5001' }, async () => {
    const { passed, failed } = await runConformance({
      createDriver: () => metalDriver(),
      codecs: knownCodecs,
      only: { cases: new RegExp(`^(${kinds})\\b`) },
    });
    expect(failed).toBe(0);
    expect(passed).toBeGreaterThan(isDrawn(1) ? 100 : 0);
  });
}, 300_000);
