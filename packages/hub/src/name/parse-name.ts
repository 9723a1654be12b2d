import { HubError } from '../error.js';
import { faultOfPath } from './check-part.js';
import { allShortNames, repositoryOf } from './short-names.js';

/** Which files of a repository a name selects. */
export type Selector =
  | { readonly kind: 'default' }
  | { readonly kind: 'quantisation'; readonly quantisation: string }
  | { readonly kind: 'path'; readonly path: string };

/** A parsed name: `hf:owner/name[@revision][:QUANT | :path/to/file.gguf]`. */
export interface HubName {
  /** 'owner/name' */
  readonly repository: string;
  /** A branch, a tag, a commit, or 'refs/pr/1'. */
  readonly revision: string;
  readonly selector: Selector;
}

const grammar = 'hf:owner/name[@revision][:QUANT or :path/to/file.gguf]';

/** 'family:tag', with at least two letters before the colon: 'C:model.gguf' is a path of Windows. */
const shortForm = /^([a-z0-9][\w.-]+):([\w.-]+)(?::([\w-]+))?$/i;

/** Is the text meant as a name? `parseName` may still refuse it. A path of an existing file takes precedence. */
export const isHubName = (text: string): boolean => text.startsWith('hf:') || shortForm.test(text);

/**
 * Parses a name. Nothing is looked up, on the disk or on the network.
 * @throws HubError BAD_NAME, UNKNOWN_NAME
 */
export function parseName(text: string): HubName {
  if (typeof text !== 'string' || text === '')
    throw new HubError(
      'BAD_NAME',
      `the name of a model is ${JSON.stringify(text) ?? String(text)}; it must be ${grammar}, or a short name as ${allShortNames[0]}`,
    );
  return text.startsWith('hf:') ? parseLong(text) : parseShort(text);
}

function parseShort(text: string): HubName {
  const [, family, tag, quantisation] = shortForm.exec(text) ?? [];
  if (family === undefined) throw refuse(text, `it is no short name as ${allShortNames[0]}`);
  const repository = repositoryOf(family.toLowerCase(), tag!.toLowerCase());
  if (repository === undefined)
    throw new HubError(
      'UNKNOWN_NAME',
      `there is no file and no short name ${quoted(text)}; short names are ${allShortNames.join(', ')}. Any other model: ${grammar}`,
    );
  return { repository, revision: 'main', selector: selectorOf(text, quantisation) };
}

function parseLong(text: string): HubName {
  const rest = text.slice('hf:'.length);
  const colon = rest.indexOf(':');
  const [before, selector] = colon < 0 ? [rest, undefined] : [rest.slice(0, colon), rest.slice(colon + 1)];
  const at = before.indexOf('@');
  const [repository, revision] = at < 0 ? [before, 'main'] : [before.slice(0, at), before.slice(at + 1)];
  assertRepository(text, repository);
  return { repository, revision: checkedRevision(text, revision), selector: selectorOf(text, selector) };
}

const quoted = (text: string) => JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text);

const refuse = (text: string, fault: string): HubError =>
  new HubError('BAD_NAME', `the model ${quoted(text)}: ${fault}; names are ${grammar}`);

/** What the Hub allows: letters, digits, - _ . of ASCII; no '--' and '..'; no '-' or '.' at the ends; no '.git' at the end. */
function assertRepository(text: string, repository: string): void {
  const parts = repository.split('/');
  if (parts.length !== 2 || parts.includes('')) throw refuse(text, `${quoted(repository)} is not owner/name`);
  for (const part of parts) {
    if (!/^[A-Za-z0-9._-]+$/.test(part))
      throw refuse(text, `${quoted(part)} has characters other than A-Z a-z 0-9 . _ -`);
    if (part.length > 96) throw refuse(text, `a part has ${part.length} characters; the Hub allows 96`);
    if (/--|\.\./.test(part)) throw refuse(text, `the Hub allows no '--' and '..' in ${quoted(part)}`);
    if (/^[.-]|[.-]$|\.git$/.test(part))
      throw refuse(text, `${quoted(part)} has - or . at an end, or .git at its end`);
  }
}

/** The rules of git for names of references, on letters of ASCII. @throws HubError BAD_NAME */
export function checkedRevision(text: string, revision: string): string {
  const fault = faultOfPath(revision);
  if (fault !== undefined) throw refuse(text, `the revision ${quoted(revision)} is wrong: ${fault}`);
  if (!/^[\w./+-]+$/.test(revision) || /\.\.|(^|\/)[.-]|\.lock(\/|$)/.test(revision))
    throw refuse(text, `the revision ${quoted(revision)} is no branch, tag or commit of git`);
  return revision;
}

function selectorOf(text: string, selector: string | undefined): Selector {
  if (selector === undefined) return { kind: 'default' };
  if (/^[A-Za-z0-9][\w-]{0,31}$/.test(selector)) return { kind: 'quantisation', quantisation: selector };
  const fault = faultOfPath(selector);
  if (fault !== undefined) throw refuse(text, `${quoted(selector)} is no quantisation and no path: ${fault}`);
  if (!/\.(gguf|bin)$/i.test(selector))
    throw refuse(
      text,
      `${quoted(selector)} is no quantisation as Q4_K_M, and no path of a .gguf file or of a .bin file of whisper.cpp`,
    );
  return { kind: 'path', path: selector };
}

/** The name as text; the default revision is left out. */
export function showName({ repository, revision, selector }: HubName): string {
  const at = revision === 'main' ? '' : `@${revision}`;
  const rest = {
    default: '',
    quantisation: 'quantisation' in selector ? `:${selector.quantisation}` : '',
    path: 'path' in selector ? `:${selector.path}` : '',
  };
  return `hf:${repository}${at}${rest[selector.kind]}`;
}
