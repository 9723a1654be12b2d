import type { Architecture } from './architecture.js';
import { badArchitecture } from './check-architecture.js';
import { callOf } from './checked-calls.js';
import { cohere2 } from './cohere2.js';
import { commandR } from './command-r.js';
import type { Settings } from './config/settings.js';
import { bert } from './encoder/bert.js';
import { decoderAsEncoder } from './encoder/decoder-as-encoder.js';
import { embeddingGemma } from './encoder/embedding-gemma.js';
import type { EncoderArchitecture } from './encoder/encoder.js';
import { euroBert } from './encoder/eurobert.js';
import { jinaBertV3 } from './encoder/jina-bert-v3.js';
import { modernBert } from './encoder/modern-bert.js';
import { nomicBert } from './encoder/nomic-bert.js';
import { nomicBertMoe } from './encoder/nomic-bert-moe.js';
import { roberta } from './encoder/roberta.js';
import { ModelError } from './error.js';
import { exaone4 } from './exaone4.js';
import { falcon } from './falcon.js';
import { gemma2 } from './gemma2.js';
import { gemma3 } from './gemma3.js';
import { glm4Moe } from './glm4-moe.js';
import { gptNeoX } from './gpt-neox.js';
import { gptOss } from './gpt-oss.js';
import { gpt2 } from './gpt2.js';
import { granite } from './granite.js';
import { lfm2 } from './lfm2.js';
import { llama } from './llama.js';
import { miniMaxM2 } from './minimax-m2.js';
import { mistral } from './mistral.js';
import { mistral3 } from './mistral3.js';
import { mixtral } from './mixtral.js';
import { olmo2 } from './olmo2.js';
import { olmo3 } from './olmo3.js';
import { phi2 } from './phi2.js';
import { phi3 } from './phi3.js';
import { qwen2 } from './qwen2.js';
import { qwen3 } from './qwen3.js';
import { qwen3Moe } from './qwen3-moe.js';
import { qwen3Next } from './qwen3-next.js';
import { qwen3Vl } from './qwen3-vl.js';
import { qwen35 } from './qwen35.js';
import { qwen35Moe } from './qwen35-moe.js';
import { type RegisteredArchitecture, registeredArchitectures } from './registered.js';
import { seedOss } from './seed-oss.js';
import { smolLm3 } from './smollm3.js';
import { stableLm } from './stablelm.js';
import type { Naming } from './weights/weight-file.js';
import { speechNames } from './whisper/names.js';
import { type ArchitectureKind, wrongKind } from './wrong-kind.js';

/** Of any kind but speech. */
type Known = Architecture | EncoderArchitecture;

const ours: readonly RegisteredArchitecture[] = [
  llama,
  mistral,
  qwen2,
  qwen3,
  mixtral,
  qwen3Moe,
  qwen3Next,
  qwen35,
  qwen35Moe,
  qwen3Vl,
  gemma2,
  gemma3,
  phi3,
  phi2,
  stableLm,
  smolLm3,
  seedOss,
  exaone4,
  granite,
  lfm2,
  gptOss,
  glm4Moe,
  miniMaxM2,
  mistral3,
  gptNeoX,
  gpt2,
  falcon,
  commandR,
  cohere2,
  olmo2,
  olmo3,
  bert,
  roberta,
  nomicBert,
  nomicBertMoe,
  jinaBertV3,
  modernBert,
  euroBert,
  embeddingGemma,
].map((architecture) => ({ architecture }));

const isEncoder = (architecture: Known): architecture is EncoderArchitecture => 'kind' in architecture;

const namingOf: Readonly<Record<Naming, string>> = { gguf: 'GGUF', huggingFace: 'Hugging Face' };

/** An architecture that files can name. */
export interface KnownArchitecture {
  readonly name: string;
  readonly kind: 'language' | 'encoder';
  /** What files call it. */
  readonly names: Readonly<Record<Naming, readonly string[]>>;
  /** Quern's own. */
  readonly own: boolean;
  /** The package that brought it, if it is known. */
  readonly package?: string;
}

/** Every architecture of this process: Quern's own, then those registered. Speech models have none. */
export const knownArchitectures = (): readonly KnownArchitecture[] =>
  [...ours, ...registeredArchitectures()].map((entry) => ({
    name: entry.architecture.name,
    kind: isEncoder(entry.architecture) ? 'encoder' : 'language',
    names: entry.architecture.names,
    own: ours.includes(entry),
    ...(entry.package !== undefined && { package: entry.package }),
  }));

/** Whether an architecture has `name` in files of one kind: 'gguf' or 'huggingFace'. */
export const hasArchitecture = (naming: Naming, name: string): boolean =>
  knownArchitectures().some(({ names }) => names[naming].includes(name));

/**
 * The decoder with `name` in files of one kind.
 * @param settings of the file: for `accepts`, and for its path in messages
 * @throws ModelError UNKNOWN_ARCHITECTURE, with the known names; WRONG_KIND for an encoder or a speech model;
 * DUPLICATE_ARCHITECTURE where two packages bring it.
 */
export function findArchitecture(naming: Naming, name: string, settings: Settings): Architecture {
  const found = find(naming, name, settings, 'language');
  if (!isEncoder(found)) return found;
  throw wrongKind(settings.path, name, 'encoder', 'language');
}

/**
 * The encoder with `name` in files of one kind; a decoder as one.
 * @param settings of the file: for `accepts`, and for its path in messages
 * @throws ModelError UNKNOWN_ARCHITECTURE, with the known names; WRONG_KIND for a speech model;
 * DUPLICATE_ARCHITECTURE where two packages bring it.
 */
export function findEncoder(naming: Naming, name: string, settings: Settings): EncoderArchitecture {
  const found = find(naming, withHead(naming, name), settings, 'encoder');
  return isEncoder(found) ? found : decoderAsEncoder(found);
}

/** The name of a decoder's class that generates, for a bare or a classifying one: Qwen3Model → Qwen3ForCausalLM. */
function withHead(naming: Naming, name: string): string {
  const generating = name.replace(/(Model|ForSequenceClassification)$/, 'ForCausalLM');
  return hasArchitecture(naming, name) || !hasArchitecture(naming, generating) ? name : generating;
}

/** @throws ModelError UNKNOWN_ARCHITECTURE, or WRONG_KIND for an architecture that transcribes no audio. */
export function needSpeech(naming: Naming, name: string, settings: Settings): void {
  if (speechNames[naming].includes(name)) return;
  const found = lookUp(naming, name, settings);
  if (found) throw wrongKind(settings.path, name, isEncoder(found) ? 'encoder' : 'language', 'speech');
  throw new ModelError(
    'UNKNOWN_ARCHITECTURE',
    `${settings.path}: the architecture '${name}' does not transcribe speech; those that do: ${speechNames[naming].join(', ')}`,
  );
}

/** Quern's own architecture for a file: what it would be without packages. */
export const findOwn = (naming: Naming, name: string, settings: Settings): Known | undefined =>
  bestOf(ours, naming, name, settings)[0]?.architecture;

function find(naming: Naming, name: string, settings: Settings, wanted: ArchitectureKind): Known {
  const found = lookUp(naming, name, settings);
  if (found) return found;
  if (speechNames[naming].includes(name)) throw wrongKind(settings.path, name, 'speech', wanted);
  throw unknown(naming, name, settings.path);
}

/** An architecture from outside comes before Quern's own. */
function lookUp(naming: Naming, name: string, settings: Settings): Known | undefined {
  const [first, second] = bestOf(registeredArchitectures(), naming, name, settings);
  if (first && second) throw duplicate(naming, name, settings.path, first, second);
  return first?.architecture ?? findOwn(naming, name, settings);
}

/** Those that accept the file; else those that take every file of the name. */
function bestOf(
  list: readonly RegisteredArchitecture[],
  naming: Naming,
  name: string,
  settings: Settings,
): readonly RegisteredArchitecture[] {
  const holders = list.filter(({ architecture }) => architecture.names[naming].includes(name));
  const accepting = holders.filter(({ architecture }) => isAccepted(architecture, settings, naming));
  return accepting.length > 0 ? accepting : holders.filter(({ architecture }) => !architecture.accepts);
}

function isAccepted(architecture: Known, settings: Settings, naming: Naming): boolean {
  if (!architecture.accepts) return false;
  const accepted = callOf(architecture.name, 'accepts', () => architecture.accepts?.(settings, naming));
  if (typeof accepted === 'boolean') return accepted;
  throw badArchitecture(architecture.name, 'accepts must return true or false');
}

const shown = ({ architecture, package: owner }: RegisteredArchitecture): string =>
  `'${architecture.name}' of ${owner === undefined ? 'a call of registerArchitecture' : `the package ${owner}`}`;

const duplicate = (
  naming: Naming,
  name: string,
  path: string,
  ...[first, second]: readonly [RegisteredArchitecture, RegisteredArchitecture]
): ModelError =>
  new ModelError(
    'DUPLICATE_ARCHITECTURE',
    `${path}: two architectures have the ${namingOf[naming]} name '${name}': ${shown(first)}, ${shown(second)}. ` +
      'Remove one of them, or give one `accepts`. If one module was loaded twice, name its package: registerArchitecture(architecture, { package })',
  );

function unknown(naming: Naming, name: string, path: string): ModelError {
  const known = [...ours, ...registeredArchitectures()].flatMap(
    ({ architecture }) => architecture.names[naming],
  );
  const claiming = registeredArchitectures().filter(({ architecture }) =>
    architecture.names[naming].includes(name),
  );
  const refusing = claiming.map((entry) => `; ${shown(entry)} has this name, but does not accept this file`);
  return new ModelError(
    'UNKNOWN_ARCHITECTURE',
    `${path}: the architecture '${name}' is not known${refusing.join('')}; known in ${namingOf[naming]} files: ${[...new Set(known)].join(', ')}. ` +
      'A package can add one ("quern": {"architectures": "./dist/index.js"} in its package.json), or a program by registerArchitecture of @quern/models: docs/writing-a-model.md',
  );
}
