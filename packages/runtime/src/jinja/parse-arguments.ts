import type { CallArguments, Expression } from './nodes.js';
import type { TokenReader } from './token-reader.js';

type ParseExpression = (reader: TokenReader) => Expression;

/** `(a, b=c, *d, **e)` */
export function parseCallArguments(reader: TokenReader, parseExpression: ParseExpression): CallArguments {
  const positional: Expression[] = [];
  const keyword: [string, Expression][] = [];
  let spread: Expression | undefined;
  let keywordSpread: Expression | undefined;
  reader.expect('operator', '(');
  for (let first = true; !reader.skip('operator', ')'); first = false) {
    if (!first) reader.expect('operator', ',');
    if (reader.skip('operator', ')')) break;
    if (keywordSpread) reader.fail('nothing may follow **');
    if (reader.skip('operator', '**')) keywordSpread = parseExpression(reader);
    else if (reader.skip('operator', '*')) {
      if (spread) reader.fail('only one * may stand in a call');
      spread = parseExpression(reader);
    } else if (reader.is('name') && reader.next.kind === 'operator' && reader.next.text === '=')
      keyword.push([keywordName(reader), parseExpression(reader)]);
    else {
      if (spread || keyword.length > 0) reader.fail('an argument without a name follows one with a name');
      positional.push(parseExpression(reader));
    }
  }
  return { positional, keyword, spread, keywordSpread };
}

function keywordName(reader: TokenReader): string {
  const { text } = reader.advance();
  reader.advance();
  return text;
}
