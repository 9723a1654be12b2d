export {
  type Addon,
  type AddonCandidate,
  type AddonPlaces,
  listDevices,
  loadAddon,
  type NativeBackend,
  type NativeOptions,
  platform,
} from './addon.js';
export { type BuildProgram, buildAddon } from './build-addon.js';
export { fullManifest } from './full-manifest.js';
export { checkGpuOptions, type GpuDriverSpec, type GpuOptions, gpuDriver } from './gpu-driver.js';
export { gpuFormats } from './gpu-formats.js';
export { type BackendPlaces, loadBackendAddon } from './load-backend-addon.js';
export { type NativeDriverSpec, nativeDriver } from './native-driver.js';
export { plainManifest } from './plain-manifest.js';
export { checkedPrecision } from './precision.js';
