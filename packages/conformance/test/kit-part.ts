import { exhaustive } from '../../../test-scope.js';
import { suites } from '../src/suites/index.js';

/** Suites that take most of the kit's time on drivers in TypeScript. */
const long: readonly string[] = ['views', 'leaks', 'generated'];

/** What `npm test` runs of the kit on such drivers; all of it with `npm run test:all`. */
export const kitPart = exhaustive
  ? undefined
  : { suites: Object.keys(suites).filter((name) => !long.includes(name)) };
