import { type Backend, findBackend, findBackends, type Precision } from '@quern/runtime';
import { byBackend } from '../options.js';
import { notice } from '../terminal/report.js';
import { BenchError } from './error.js';

export interface BackendFlags {
  readonly backend: string;
  readonly threads?: number | undefined;
  readonly isa?: string | undefined;
  readonly precision?: Precision | undefined;
  readonly backendOption?: Readonly<Record<string, unknown>> | undefined;
}

const chosen = ({ threads, isa, precision, backendOption }: BackendFlags) => ({
  ...(backendOption && { backendOptions: backendOption }),
  ...(threads !== undefined && { threads }),
  ...(isa !== undefined && { isa }),
  ...(precision !== undefined && { precision }),
});

/**
 * The backend to measure: the named one, or the fastest installed. An installed backend that refuses the caller's
 * instruction set, thread count or precision is an error, never a fallback.
 */
export async function openBackend(flags: BackendFlags): Promise<Backend> {
  if (flags.backend !== 'auto') return (await findBackend(flags.backend, chosen(flags))).backend;
  const [first, ...others] = await findBackends({ ...chosen(flags), automatic: true });
  for (const { backend } of others) backend?.dispose();
  const failed = [first, ...others].find((candidate) => candidate?.error !== undefined);
  if (!first?.backend) return (await findBackend(failed?.package ?? 'cpu', chosen(flags))).backend;
  if (!failed) return first.backend;
  if ((flags.isa ?? flags.threads ?? flags.precision) !== undefined) {
    first.backend.dispose();
    await findBackend(failed.package, chosen(flags));
  }
  const [reason] = failed.error.split('\n');
  notice(`${failed.package} cannot be used: ${reason}. Measuring '${first.name}'`);
  return first.backend;
}

/** The names in `--backend`: more than one where a model lies on several. */
export const backendNames = (backend: string): readonly string[] =>
  backend.split(',').map((name) => name.trim());

/** The backends to measure together, in the order of their layers. */
export async function openBackends({
  backend,
  backendOption,
  ...chosenForAll
}: BackendFlags): Promise<Backend[]> {
  const names = backendNames(backend);
  if (names.length === 1) return [await openBackend({ backend, backendOption, ...chosenForAll })];
  const own = byBackend(backendOption);
  const strange = Object.keys(own ?? {}).find((name) => !names.includes(name));
  if (strange !== undefined)
    throw new BenchError(
      'BAD_OPTION',
      `--backend-option names '${strange}', which is not among ${backend}: of several backends it is name.key=value`,
    );
  const opened: Backend[] = [];
  try {
    for (const name of names)
      opened.push(await openBackend({ backend: name, backendOption: own?.[name], ...chosenForAll }));
    return opened;
  } catch (error) {
    for (const each of opened) each.dispose();
    throw error;
  }
}

/**
 * A plainer backend to compare with: the same backend's scalar kernels, else another backend that computes on the CPU.
 * Undefined if neither exists.
 */
export async function openPlainer(measured: Pick<Backend, 'name' | 'profile'>): Promise<Backend | undefined> {
  const { kind, isa } = measured.profile;
  if (kind === 'cpu' && isa !== 'scalar')
    return (await findBackend(measured.name, { isa: 'scalar' })).backend;
  const loaded = (await findBackends()).flatMap(({ backend }) => backend ?? []);
  const other = loaded.find(({ name, profile }) => name !== measured.name && profile.kind !== 'gpu');
  for (const backend of loaded) if (backend !== other) backend.dispose();
  return other;
}
