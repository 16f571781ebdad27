import { type Static, Type } from 'typebox'
import type { BodyReader } from '../validation/bodyReader.ts'
import { nullable, optional, textField, wholeField } from './fields.ts'
import { INGEST_FACTS, INGEST_TYPES, type IngestAudio, type IngestType } from './types.ts'
import { closed } from '../validation/closed.ts'

/** Of one ingest. */
const TRACKS_MAX = 12
const LANGUAGE_MAX = 35
const LABEL_MAX = 64

/** Types of ingests whose sources have several audio tracks. */
const TYPES = INGEST_TYPES.filter((type) => INGEST_FACTS[type].audioNumbers !== null)
const NUMBERS = INGEST_TYPES.flatMap((type) => INGEST_FACTS[type].audioNumbers ?? [])
const NUMBER_MAX = Math.max(...NUMBERS.map(({ max }) => max))
const WHAT = [...new Set(NUMBERS.map(({ what, min, max }) => `its ${what} (${min} to ${max})`))].join(', or ')

const audioTrackFields = () => ({
  pid: optional(wholeField(0, NUMBER_MAX, `The number of the track: ${WHAT}; needed with more than one track.`)),
  language: textField(LANGUAGE_MAX, 'A tag of RFC 5646, such as `en` or `pt-BR`.'),
  label: textField(LABEL_MAX, 'What players show. Each track has its own.'),
})

const AudioTrackBody = Type.Object(audioTrackFields(), closed)
export const AudioTrackRecord = Type.Object(audioTrackFields())

export const tracksField = () =>
  nullable(
    Type.Object(
      { audio: optional(Type.Array(AudioTrackBody, { maxItems: TRACKS_MAX })) },
      {
        ...closed,
        description: `The audio tracks that viewers choose from, the default first; of ${TYPES.join(', ')}. None: the first one of the source.`,
      },
    ),
  )

type Body = BodyReader<{ tracks?: { audio?: Static<typeof AudioTrackBody>[] } | null }>

/** The audio tracks of a body; undefined when it does not name them, and none when it clears them. */
export function readAudioTracks(body: Body): IngestAudio[] | undefined {
  if (body.clears('tracks')) return []
  if (!body.names('tracks')) return undefined
  const items = body.part('tracks').items('audio')
  for (const [index, { at, item }] of items.entries()) {
    const before = items.slice(0, index).map((other) => other.item)
    const add = (field: string, problem: string | null): void => {
      if (problem !== null) body.problems.add(`${at}.${field}`, problem)
    }
    add('language', LANGUAGE.test(item.language) ? null : 'must be a language tag (RFC 5646), such as en or pt-BR')
    add('label', UNQUOTABLE.test(item.label) ? 'must not contain quotation marks or control characters' : null)
    if (before.some(({ label }) => label === item.label)) add('label', 'is listed twice')
    if (item.pid === undefined) add('pid', items.length > 1 ? 'is required with more than one track' : null)
    else if (before.some(({ pid }) => pid === item.pid)) add('pid', 'is listed twice')
  }
  return items.map(({ item: { pid = null, language, label } }) => ({ pid, language, label }))
}

const LANGUAGE = /^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/
/** A playlist has it between quotation marks (RFC 8216 section 4.2). */
const UNQUOTABLE = /["\p{Cc}]/u

/** Adds a problem if a source of this type cannot have these tracks. */
export function checkAudioTracks(body: Body, type: IngestType, tracks: readonly IngestAudio[]): void {
  const { audioNumbers } = INGEST_FACTS[type]
  if (tracks.length === 0) return
  if (audioNumbers === null)
    return body.problems.add(`${body.at}tracks`, `${type} has one audio track; several are for ${TYPES.join(', ')}`)
  const { what, min, max } = audioNumbers
  for (const [index, { pid }] of tracks.entries())
    if (pid !== null && (pid < min || pid > max))
      body.problems.add(
        `${body.at}tracks.audio[${index}].pid`,
        `must be the ${what}: a whole number from ${min} to ${max}`,
      )
}

/** As records have it. */
export const audioTrackRecord = ({ pid, language, label }: IngestAudio): Static<typeof AudioTrackRecord> => ({
  ...(pid === null ? {} : { pid }),
  language,
  label,
})
