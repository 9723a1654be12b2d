/** Variables that Quern, its downloads, Node or a driver read. */
const read =
  /^(QUERN_|HF_|HUGGING_?FACE|CUDA_|NVIDIA_|METAL_|XDG_(CACHE|STATE)_HOME$|NODE_(OPTIONS|PATH|EXTRA_CA_CERTS)$|UV_|LD_(LIBRARY_PATH|PRELOAD)$|DYLD_|(HTTPS?|ALL|NO)_PROXY$|npm_config_(omit|ignore_scripts|registry|arch|platform|libc)$)/i;

/** Values that nobody else may see. HF_TOKEN_PATH and HF_HUB_DISABLE_IMPLICIT_TOKEN hold none. */
const secret = /TOKEN(?!_PATH)|KEY|SECRET|PASSWORD|AUTH|CREDENTIAL/i;
const noSecret = /^HF_HUB_DISABLE_IMPLICIT_TOKEN$/;

const hidden = '(hidden)';

const isSecret = (name: string): boolean => secret.test(name) && !noSecret.test(name);

/** A URL's user, password and query may be secrets, also in a list of texts. */
const withoutCredentials = (text: string): string =>
  text.replace(/\/\/[^/@\s]*@/g, `//${hidden}@`).replace(/(:\/\/[^\s?]*\?)[^\s]+/g, `$1${hidden}`);

/** The variables that matter, by name; secrets are hidden. */
export function environmentReport(env: NodeJS.ProcessEnv): Record<string, string> {
  const names = Object.keys(env).filter((name) => read.test(name) && env[name] !== '');
  return Object.fromEntries(
    names.sort().map((name) => [name, isSecret(name) ? hidden : withoutCredentials(env[name]!)]),
  );
}

/** Hides the secrets of the environment, and the credentials of URLs, in every text of a report. */
export function withoutSecrets<T>(value: T, env: NodeJS.ProcessEnv): T {
  const secrets = Object.keys(env).flatMap((name) =>
    read.test(name) && isSecret(name) && env[name]!.length >= 6 ? [env[name]!] : [],
  );
  const hide = (text: string): string =>
    secrets.reduce((rest, each) => rest.replaceAll(each, hidden), withoutCredentials(text));
  return JSON.parse(
    JSON.stringify(value, (_, each: unknown) => (typeof each === 'string' ? hide(each) : each)),
  ) as T;
}
