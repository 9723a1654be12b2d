/** Builds the addon and the emulated device. Returns the settings with which backend-metal runs on it. */
export function buildEmulated(): {
  readonly QUERN_METAL_BINARY: string;
  readonly QUERN_METAL_LIBRARY: string;
};
