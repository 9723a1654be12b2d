// All packages in one run, for the count at the end of `npm test`. Each package's own `test` script runs it alone.
export default { projects: ['<rootDir>/packages/*'], testSequencer: '<rootDir>/jest.sequencer.mjs' };
