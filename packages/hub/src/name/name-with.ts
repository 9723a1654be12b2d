import { HubError } from '../error.js';
import { checkedRevision, type HubName, parseName } from './parse-name.js';

/** A parsed name, with the revision of an option. @throws HubError BAD_NAME, UNKNOWN_NAME, BAD_OPTION */
export function nameWith(text: string, revision: string | undefined): HubName {
  const name = parseName(text);
  if (revision === undefined) return name;
  if (name.revision !== 'main' && name.revision !== revision)
    throw new HubError(
      'BAD_OPTION',
      `the name ${text} has the revision ${name.revision}, and the option has ${revision}: give one of them`,
    );
  return { ...name, revision: checkedRevision(text, revision) };
}
