import { expect, test } from 'vitest'
import { PROTOCOLS, PROTOCOLS_OF } from '../../../src/core/access/protocols.ts'
import { finding, isNode, type Module, parse, readSources, type SyntaxNode } from '../../tidy/source.ts'

const NAMES: ReadonlySet<unknown> = new Set(PROTOCOLS)

/** Code that tests the name of a protocol: the next protocol would be forgotten there, and no compiler would say so. */
const comparisons = (module: Module): string[] =>
  module.nodes
    .flatMap((node) => {
      if (node.type === 'SwitchCase') return [node['test']]
      return /^[!=]==?$/.test(String(node['operator'])) ? [node['left'], node['right']] : []
    })
    .filter((side): side is SyntaxNode => isNode(side) && NAMES.has(side['value']))
    .map(({ start }) => finding(module, start, 'test a fact of PROTOCOL_FACTS, not the name'))

test('no code tests the name of a protocol', () => {
  const naming = readSources(['src'], /\.ts$/).filter(({ text }) =>
    PROTOCOLS.some((name) => text.includes(`'${name}'`)),
  )
  expect(naming.map(parse).flatMap(comparisons)).toEqual([])
})

test.each([
  ["const a = 'rtmp' !== request.protocol", 1],
  ["if (protocol == 'whip') run()", 1],
  ["switch (protocol) { case 'hls': run(); default: stop() }", 1],
  ["const a = { protocol: 'whep' as const, isFeed: kind === 'feed' }", 0],
])('%s has %i of those tests', (text, count) => {
  expect(comparisons(parse({ path: 'src/core/a.ts', text }))).toHaveLength(count)
})

test('each protocol publishes or views, and lists have the publishing ones first', () => {
  expect(PROTOCOLS).toEqual([...PROTOCOLS_OF.publish, ...PROTOCOLS_OF.view])
})
