// The conformance kit on the device: node conformance.mjs REPORT [PATTERN [SUITE,…]]. Its own process, so that a crash is an answer too.
import { appendFileSync, writeFileSync } from 'node:fs';
import { knownCodecs, runConformance } from '@quern/conformance';
import { createDriver } from './device.mjs';

const [report, pattern, suites] = process.argv.slice(2);
const log = report.replace(/\.json$/, '.log');
writeFileSync(log, '');
const { passed, failed, notSupported, results } = await runConformance({
  createDriver: () => createDriver(),
  codecs: knownCodecs,
  ...(pattern && { only: { cases: new RegExp(pattern), ...(suites && { suites: suites.split(',') }) } }),
  onResult: ({ suite, name, status }) => appendFileSync(log, `${status} ${suite} › ${name}\n`),
});
const failures = results
  .filter(({ status }) => status === 'failed')
  .map(({ suite, name, message }) => ({ suite, name, message }));
writeFileSync(report, JSON.stringify({ passed, failed, notSupported, failures }, null, 1));
