/** Builds the addon and the emulated device. Returns the settings with which backend-cuda runs on it. */
export function buildEmulated(): { readonly QUERN_CUDA_BINARY: string; readonly QUERN_CUDA_LIBRARY: string };
