import {
  checkArgument,
  checkOptions,
  type Precision,
  precisions,
  type RegisteredBackend,
  registeredBackends,
  rules,
  type Schema,
} from '@quern/core';
import { badArgument, badOption, RuntimeError } from '../error.js';
import { applicationFolders, quernPackages } from './application.js';
import {
  type BackendCandidate,
  type CreateBackendOptions,
  type FailedBackend,
  isBackendPath,
  type KnownBackend,
  type LoadedBackend,
  loadBackends,
  packageAt,
  splitDevice,
} from './load-backend.js';

export interface FindBackendsOptions {
  /** Threads to compute with. Default: the backend chooses. */
  readonly threads?: number | undefined;
  /** Instruction set, for backends that support several. Default: the backend chooses. */
  readonly isa?: string | undefined;
  /** How products and attention may round: 'fast', 'standard' or 'exact'. Default: the backend chooses; backend-cpu: 'standard'. */
  readonly precision?: Precision | undefined;
  /** Further options for `createBackend` of the named backend. */
  readonly backendOptions?: Readonly<Record<string, unknown>> | undefined;
  /** Folder: the packages in the nearest package.json, from there upwards, are searched. */
  readonly resolveFrom?: string | undefined;
}

export interface FindAllOptions extends FindBackendsOptions {
  /** Only backends that 'auto' may choose: packages with `"auto": false` are not loaded. Default false. */
  readonly automatic?: boolean | undefined;
}

/** Larger values are typing errors: no machine has this many threads. */
const mostThreads = 1024;

/** What each option must be, and its default. */
export const findBackendsSchema = {
  threads: {
    ...rules.whole(1, mostThreads),
    about: 'threads to compute with',
    absent: 'the backend chooses',
  },
  isa: {
    ...rules.text,
    about: 'instruction set, for backends that support several',
    absent: 'the backend chooses',
  },
  precision: {
    ...rules.oneOf(precisions),
    about: 'how products and attention may round: fast, standard or exact',
    absent: 'the backend chooses; backend-cpu: standard',
  },
  backendOptions: {
    ...rules.object,
    about: 'further options for createBackend of the named backend',
    absent: 'none',
  },
  resolveFrom: {
    ...rules.text,
    about:
      'folder: the packages in its nearest package.json are searched for backends, architectures and models',
    absent: "the application's folder",
  },
} as const satisfies Schema<FindBackendsOptions>;

export const findAllSchema = {
  ...findBackendsSchema,
  automatic: {
    ...rules.flag,
    about: "only backends that 'auto' may choose",
    byDefault: false,
  },
} as const satisfies Schema<FindAllOptions>;

const chosenOf = ({
  threads,
  isa,
  precision,
  backendOptions,
}: FindBackendsOptions): CreateBackendOptions => ({
  ...backendOptions,
  ...(threads !== undefined && { threads }),
  ...(isa !== undefined && { isa }),
  ...(precision !== undefined && { precision }),
});

/** Backends that the application imported ("@quern/backend-cpu/register"), then those of its dependencies. */
function known(resolveFrom: string | undefined): KnownBackend[] {
  const registered = resolveFrom === undefined ? registeredBackends().map(ofRegistered) : [];
  const declared = quernPackages(resolveFrom).flatMap(({ name, folder, quern: { backend, auto } }) =>
    typeof backend === 'string' ? { name, folder, module: backend, auto } : [],
  );
  return [...registered, ...declared.filter(({ name }) => registered.every((each) => each.name !== name))];
}

const ofRegistered = (registered: RegisteredBackend): KnownBackend => ({
  name: registered.package,
  auto: registered.auto,
  createBackend: (options) => registered.createBackend(options),
  ...(registered.devices && { devices: () => registered.devices!() }),
});

/** Best first: by FLOP rate, then by bandwidth. Failed candidates are last. */
function rank(a: BackendCandidate, b: BackendCandidate): number {
  if (!a.backend || !b.backend) return Number(!a.backend) - Number(!b.backend);
  const [p, q] = [a.backend.profile, b.backend.profile];
  return q.flops - p.flops || q.readBandwidth - p.readBandwidth;
}

/**
 * Loads all backends declared by the application's dependencies ("quern": {"backend": "./dist/index.js"} in their
 * package.json), best first. The caller disposes unused backends.
 * @throws RuntimeError BAD_OPTION for backendOptions: they belong to one named backend
 */
export const findBackends = (options: FindAllOptions = {}): Promise<BackendCandidate[]> =>
  candidatesFor('findBackends', options);

/** As `findBackends`; `caller` is named by messages. */
export async function candidatesFor(caller: string, options: FindAllOptions): Promise<BackendCandidate[]> {
  checkOptions(caller, options, findAllSchema, badOption);
  if (options.backendOptions !== undefined)
    throw new RuntimeError(
      'BAD_OPTION',
      "backendOptions belong to one backend: name it, as in backend: 'cpu' (--backend cpu on the command line)",
    );
  const wanted = known(options.resolveFrom).filter(({ auto }) => !options.automatic || auto !== false);
  const candidates: BackendCandidate[] = [];
  for (const found of wanted) candidates.push(...(await loadBackends(found, chosenOf(options), 'all')));
  return candidates.sort(rank);
}

/** Matches the package's own name or its backend's name. */
const isLikely = (packageName: string, name: string) =>
  packageName === name || packageName.endsWith(`backend-${name}`);

/** Whether a backend refused the caller's options, and not the machine. */
export function refusedChoice(
  { package: name, code }: FailedBackend,
  { threads, isa, precision }: FindBackendsOptions,
): boolean {
  if (code === 'BAD_ARGUMENT' && (threads ?? precision) !== undefined) return true;
  return Boolean(isa ?? process.env.QUERN_CPU_ISA) && isLikely(name, 'cpu') && code === 'UNSUPPORTED';
}

/** "cuda:3 cannot be used (UNSUPPORTED): there is no device 3; …" */
function failure({ package: owner, error, code, unloaded }: FailedBackend, name = owner): string {
  if (code === 'BAD_ARGUMENT') return `${owner} refuses its options: ${error}`;
  const shown = code === undefined ? '' : ` (${code})`;
  return unloaded
    ? `${owner} is installed but does not load${shown}: ${error}`
    : `${name} cannot be used${shown}: ${error}`;
}

/** The error for a backend that the caller named. */
const namedFailed = (name: string, failed: FailedBackend): RuntimeError => {
  const { cause } = failed;
  const isChoice = cause instanceof RuntimeError && cause.code === 'BAD_OPTION';
  return isChoice ? cause : new RuntimeError('BACKEND_FAILED', failure(failed, name), { cause });
};

/** The error where 'auto' has no backend. `cause`: of several failures, an AggregateError. */
export function backendFailed(...failed: readonly FailedBackend[]): RuntimeError {
  const causes = failed.map(({ cause }) => cause);
  const cause = causes.length === 1 ? causes[0] : new AggregateError(causes);
  return new RuntimeError('BACKEND_FAILED', failed.map((each) => failure(each)).join('\n'), { cause });
}

/** A notice of one line: a backend that 'auto' cannot take, and what it takes instead. */
export function goingOn({ package: name, error }: FailedBackend, instead: string): string {
  const [line, ...more] = error.split('\n');
  const hint = more.length > 0 ? ' (`quern devices` tells more)' : '';
  return `${name} cannot be used: ${line}${hint}. Going on with ${instead}, which may be slower`;
}

/** Part of messages: how to name a backend. */
const howNamed =
  "A backend is 'auto', the name of an installed one such as 'cpu', or 'cuda:1' for its second device, the name of its package, or the path of its folder or module, which begins with './' or '/'";

function needBackendName(name: string): void {
  if (/^(@[\w.-]+\/)?[\w.-]+(:\d+)?$/.test(name)) return;
  throw new RuntimeError('BAD_OPTION', `backend is '${name}'. ${howNamed}`);
}

/**
 * The installed backend with this name, in this package, or at this path. Packages with a matching name are tried
 * first.
 * @throws RuntimeError BACKEND_NOT_FOUND, BACKEND_FAILED, BAD_OPTION, BAD_ARGUMENT
 */
export async function findBackend(name: string, options: FindBackendsOptions = {}): Promise<LoadedBackend> {
  checkArgument('findBackend', 'name', name, rules.text, badArgument);
  checkOptions('findBackend', options, findBackendsSchema, badOption);
  if (isBackendPath(name)) return backendAt(name, options);
  needBackendName(name);
  const { base, choice } = splitDevice(name);
  const packages = known(options.resolveFrom);
  const likely = packages.filter((found) => isLikely(found.name, base));
  const seen: BackendCandidate[] = [];
  for (const found of [...likely, ...packages.filter((other) => !likely.includes(other))]) {
    const candidate = (await loadBackends(found, chosenOf(options), choice))[0]!;
    const isNamed =
      candidate.backend && (splitDevice(candidate.name).base === base || candidate.package === base);
    if (isNamed) return candidate;
    candidate.backend?.dispose();
    if (!candidate.backend && isLikely(found.name, base)) throw namedFailed(name, candidate);
    seen.push(candidate);
  }
  throw new RuntimeError('BACKEND_NOT_FOUND', notFound(name, seen, options.resolveFrom));
}

async function backendAt(path: string, options: FindBackendsOptions): Promise<LoadedBackend> {
  const { found, choice } = packageAt(path);
  const candidate = (await loadBackends(found, chosenOf(options), choice))[0]!;
  if (candidate.backend) return candidate;
  throw namedFailed(path, candidate);
}

/** Backends published by this project. */
const published = ['cpu', 'cuda', 'metal', 'reference'];

function notFound(name: string, seen: readonly BackendCandidate[], resolveFrom: string | undefined): string {
  const ours = published.find((own) => name === own || name === `@quern/backend-${own}`);
  const advice = ours ? `To add it: npm install @quern/backend-${ours}. ${howBundled(ours)}` : howNamed;
  return `there is no backend '${name}': ${showCandidates(seen, resolveFrom)}. ${advice}`;
}

/** Part of messages: what to do where package.json files or node_modules are not there. */
export const howBundled = (name: string): string =>
  `In a bundle or a traced deployment (Next's standalone), add the import @quern/backend-${name}/register, or pass an instance as backend: docs/guide/bundlers.md`;

/** Part of messages: the candidates found. */
export function showCandidates(seen: readonly BackendCandidate[], resolveFrom: string | undefined): string {
  const folders = applicationFolders(resolveFrom).join(', ') || (resolveFrom ?? process.cwd());
  if (seen.length === 0)
    return `no package in the dependencies of ${folders} declares a backend, and the program registers none`;
  const each = seen.map((candidate) =>
    candidate.backend
      ? `${candidate.name} (${candidate.package})`
      : `${candidate.package}: ${candidate.error}`,
  );
  return `the dependencies of ${folders} give ${each.join('; ')}`;
}
