import { giveNotice } from '../src/notice.js';
import { warningsOf } from './warnings.js';

test('a listener that throws ends nothing: the notice becomes a warning', async () => {
  const { warnings } = await warningsOf(async () => {
    giveNotice(() => {
      throw new Error('a fault');
    }, 'the disk is full');
  });
  expect(warnings).toEqual(['onNotice threw (a fault) at this notice: the disk is full']);
});
