import type { Backend } from '../backend.js';
import { BackendError } from '../error.js';
import { type Capabilities, type CapabilityName, capabilityNames } from './index.js';

/** A Backend with certain capabilities: `With<'pagedKv' | 'graph'>`. */
export type With<Name extends CapabilityName> = Backend & Pick<Capabilities, Name>;

/** Capabilities for a language-model server. */
export type LlmBackend = With<'pagedKv' | 'graph'>;

/** Plus quantised weights of GGUF files. */
export type QuantLlmBackend = With<'pagedKv' | 'graph' | 'quantGguf'>;

/** Capabilities for a server of mixture-of-experts models. */
export type MoeLlmBackend = With<'pagedKv' | 'graph' | 'moeFused'>;

/** Type guard: the backend has all the named capabilities. */
export function has<Name extends CapabilityName>(backend: Backend, ...names: Name[]): backend is With<Name> {
  return names.every((name) => backend[name] !== undefined);
}

/** Assertion: throws UNSUPPORTED with the missing and the present capabilities. */
export function need<Name extends CapabilityName>(
  backend: Backend,
  ...names: Name[]
): asserts backend is With<Name> {
  const missing = names.filter((name) => backend[name] === undefined);
  if (missing.length === 0) return;
  const present = capabilityNames.filter((name) => backend[name] !== undefined);
  throw new BackendError(
    'UNSUPPORTED',
    `backend '${backend.name}' lacks ${missing.join(', ')}; it has ${present.join(', ') || 'no capabilities'}`,
  );
}
