/**
 * Further names of models: `name=model`, or `name` where there is one model.
 * @param models names of models
 * @param adapters names of adapters, which may have aliases too
 * @param fault called with what is wrong; it does not return
 */
export function namedAliases(
  given: readonly string[],
  models: readonly string[],
  adapters: readonly string[],
  fault: (message: string) => never,
): Readonly<Record<string, string>> {
  const known = [...models, ...adapters];
  const aliases: Record<string, string> = {};
  for (const text of given) {
    const at = text.lastIndexOf('=');
    const alias = at < 0 ? text : text.slice(0, at);
    const model = at < 0 && models.length === 1 ? models[0]! : text.slice(at + 1);
    if (alias === '' || !known.includes(model) || known.includes(alias))
      fault(
        `--alias is '${text}'; it must be NAME=MODEL, with a new name of one of these models: ${known.join(', ')}`,
      );
    if (Object.hasOwn(aliases, alias)) fault(`--alias gives the name '${alias}' twice`);
    aliases[alias] = model;
  }
  return aliases;
}
