import { formatReport, runConformance } from '@quern/conformance';
import { cpuDriver } from '../src/index.js';
import { referenceDriver } from '../../backend-reference/src/driver.js';
const isas = (process.env.ISAS ?? 'avx2,scalar').split(',');
test.each(isas)('%s', async (isa) => {
  const cases = new RegExp(process.env.CASES ?? '^(attention|uncachedAttention|scale|ropeTable|log10|rmsNorm|layerNorm):');
  const suites = (process.env.SUITES ?? 'ops,generated,views,errors').split(',');
  const report = await runConformance({ createDriver: () => isa === 'reference' ? referenceDriver() : cpuDriver({ isa, threads: 2 } as never), only: { suites, cases } as never });
  console.log(isa, formatReport(report).slice(-9000));
  for (const c of report.closeness) console.log(isa, c.op, c.format, c.share, c.case);
}, 900000);
