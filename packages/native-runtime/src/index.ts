export {
  type Addon,
  listDevices,
  loadAddon,
  type NativeBackend,
  type NativeOptions,
} from './addon.js';
export type { Attempt } from './binary/attempt.js';
export { type AddonCandidate, type AddonPlaces, type Choice, chooseAddon } from './binary/choose-addon.js';
export { type BinaryDescription, describeBinary } from './binary/describe-binary.js';
export type { BinaryFacts } from './binary/facts.js';
export { inspectBinary, type NoBinary } from './binary/inspect-binary.js';
export { platform } from './binary/system.js';
export { type BuildProgram, buildAddon } from './build-addon.js';
export { fullManifest } from './full-manifest.js';
export { checkGpuOptions, type GpuDriverSpec, type GpuOptions, gpuDriver } from './gpu-driver.js';
export { gpuFormats } from './gpu-formats.js';
export { addonPlaces, type BackendPlaces, loadBackendAddon } from './load-backend-addon.js';
export { type NativeDriverSpec, nativeDriver } from './native-driver.js';
export { plainManifest } from './plain-manifest.js';
export { checkedPrecision } from './precision.js';
