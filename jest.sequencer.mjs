// Long suites first, so that no long suite runs alone at the end. Jest knows durations only from its second run on.
import Sequencer from '@jest/test-sequencer';

const long = [
  'backend-cpu/test/conformance',
  'backend-cuda/test/conformance',
  'backend-cpu/test/formats',
  'backend-metal/test/conformance',
  'conformance/test/kit.all',
  'speculation/speculation',
  'audio/read-samples',
  'speech/transcribe',
  'cli/test/errors',
];

/** Place in `long`; other suites come after all of them. */
const rank = ({ path }) => {
  const place = long.findIndex((part) => path.includes(part));
  return place < 0 ? long.length : place;
};

export default class LongFirst extends Sequencer {
  sort(tests) {
    return [...super.sort(tests)].sort((a, b) => rank(a) - rank(b));
  }
}
