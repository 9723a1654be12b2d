/** Most sequences that decode in one step. */
export const batchRows = 64;
