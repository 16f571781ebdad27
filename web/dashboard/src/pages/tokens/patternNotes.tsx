import { useEffect, useState } from 'preact/hooks'
import { type Answer, testPattern } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { refusalWords } from '../../words/refusalWords.ts'
import { words } from '../../words/words.ts'
import { checkStream } from './checks.ts'
import type { StreamEntry } from './streamEntry.ts'

const text = words.tokens.form
type Tested = Answer<typeof testPattern>

/** A person rarely looks at more than this number of patterns. */
const TESTED_MOST = 5
const EXAMPLES_SHOWN = 3

/** What the server says about patterns: whether they are RE2, and what they match among recent streams. */
export function usePatterns(entries: readonly StreamEntry[]): ReadonlyMap<string, Tested> {
  const [tested, setTested] = useState<ReadonlyMap<string, Tested>>(new Map())
  const patterns = entries
    .filter((entry) => entry.isRegex && checkStream(entry) === null)
    .slice(0, TESTED_MOST)
    .map(({ streamName }) => streamName)
  useEffect(() => {
    const stopping = new AbortController()
    for (const pattern of patterns.filter((one) => !tested.has(one))) {
      test(pattern, stopping.signal).then(
        (answer) => setTested((before) => new Map(before).set(pattern, answer)),
        // Without an answer the field has no note; saving checks the pattern in any case.
        () => undefined,
      )
    }
    return () => stopping.abort()
  }, [patterns.join('\n')])
  return tested
}

async function test(pattern: string, signal: AbortSignal): Promise<Tested> {
  const answer = await call(testPattern, { body: { pattern } }, { signal })
  return answer.error === undefined ? answer : { ...answer, error: (await refusalWords())(answer.error) }
}

/** One sentence for each valid pattern. */
export function PatternNotes({
  entries,
  tested,
}: {
  readonly entries: readonly StreamEntry[]
  readonly tested: ReadonlyMap<string, Tested>
}) {
  return (
    <>
      {entries.map(({ streamName, isRegex }) => {
        const found = isRegex ? tested.get(streamName) : undefined
        return found?.isValid ? <Note key={streamName} pattern={streamName} tested={found} /> : null
      })}
    </>
  )
}

function Note({ pattern, tested }: { readonly pattern: string; readonly tested: Tested }) {
  const { matches, isComplete } = tested
  return <> {text.patternMatches(pattern, matches.length, !isComplete, matches.slice(0, EXAMPLES_SHOWN).join(', '))}</>
}
