import { nearestName } from '@quern/core';
import { badOption } from '../error.js';

/** Names that other libraries give to fields of tools. */
const foreign: Readonly<Record<string, string>> = {
  execute: 'run',
  handler: 'run',
  inputSchema: 'parameters',
  input_schema: 'parameters',
};

/**
 * Refuses functions, misspelt fields and fields of other libraries. All others are the template's.
 * @param where the tool, for messages: 'tools[0]'
 * @throws RuntimeError BAD_OPTION
 */
export function needToolFields(where: string, given: object, known: readonly string[]): void {
  const fields: Readonly<Record<string, unknown>> = { ...given };
  for (const [name, value] of Object.entries(fields)) {
    if (known.includes(name)) continue;
    const meant = Object.hasOwn(foreign, name) ? foreign[name] : nearestName(name, known);
    if (typeof value === 'function' && meant !== 'parameters')
      throw badOption(
        `${where}.${name} is a function: a tool's function is 'run', as in { type: 'function', function: { name, parameters }, run }`,
        'tools',
      );
    if (meant !== undefined && fields[meant] === undefined)
      throw badOption(`${where} has '${name}': did you mean '${meant}'?`, 'tools');
  }
}
