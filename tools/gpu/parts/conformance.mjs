// The conformance kit on the device, in a process of its own: node conformance.mjs '{"cases": …, "suites": […], "without": […], "share": [i, n], "from": k, "avoid": […]}'.
// Takes the cases of its share, from place k on, without those of ops to avoid. A failure ends the process, since a context that met a fault fails for ever: kit-runs.mjs goes on behind.
import { knownCodecs, runConformance } from '@quern/conformance';
import { createDriver } from './device.mjs';
import { sendToParent } from './processes.mjs';

const {
  cases,
  suites,
  without = [],
  share: [index, count] = [0, 1],
  from = 0,
  avoid = [],
} = JSON.parse(process.argv[2]);

/** Places of the cases taken, the next one first. */
const places = [];
const takes = (place, { suite, name }) => {
  const isOwn = !without.includes(suite) && place % count === index && place >= from;
  if (!isOwn) return false;
  if (avoid.includes(name.split(':')[0])) {
    sendToParent({ avoided: name });
    return false;
  }
  places.push(place);
  return true;
};
const options = {
  createDriver: () => createDriver(),
  codecs: knownCodecs,
  only: { takes, ...(cases && { cases: new RegExp(cases) }), ...(suites && { suites }) },
  onCase: ({ suite, name }) => sendToParent({ begins: places.shift(), suite, name }),
  onResult({ suite, name, status, message }) {
    sendToParent({ status, suite, name, message });
    if (status === 'failed') process.exit();
  },
};
try {
  const { results } = await runConformance(options);
  // A driver that cannot be made is a result too.
  if (results[0]?.status === 'failed') options.onResult(results[0]);
} catch (error) {
  if (error.code !== 'NO_CASES') throw error;
}
sendToParent({ done: true });
