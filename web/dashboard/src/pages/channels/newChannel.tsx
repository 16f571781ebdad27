import { useState } from 'preact/hooks'
import { type AbrLadder, createChannel, type Ingest, listLadders } from '#api/channels.ts'
import { call, callPage } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { Button, LinkButton } from '../../parts/button.tsx'
import { ChipsField, Segment, SelectField, TextField, useSubmit } from '../../parts/form.tsx'
import { LoadError, Notice } from '../../parts/notice.tsx'
import { Card, Page } from '../../parts/page.tsx'
import { goLater, linkTo } from '../../router.ts'
import { channelWords } from '../../words/channelWords.ts'
import { words } from '../../words/words.ts'
import { checkCountry } from '../tokens/checks.ts'
import { errorOf } from '../tokens/tokenForm.ts'
import { isPush } from './ingestCard.tsx'
import { variantsOf } from './ladder.ts'

const text = channelWords.newChannel
const DEFAULT_LADDER = 'ab_default'

type IngestType = Ingest['type']

/** The types in the order of the choice, each with an example of the address of a source that is dialled. */
const SAMPLES: Readonly<Record<IngestType, string>> = {
  'rtmp-push': '',
  'srt-push': '',
  'rtmp-pull': 'rtmp://encoder.example/app/key',
  'srt-pull': 'srt://encoder.example:9000',
  'rtsp-pull': 'rtsp://user:password@camera.example/stream1',
  'whep-pull': 'wheps://:token@sluice.example/whep/stream1',
}
const TYPES = Object.keys(SAMPLES) as readonly IngestType[]

interface Draft {
  readonly name: string
  readonly type: IngestType
  readonly url: string
  readonly ladderId: string
  readonly countries: readonly string[]
  readonly domains: readonly string[]
}

const EMPTY: Draft = { name: '', type: 'rtmp-push', url: '', ladderId: DEFAULT_LADDER, countries: [], domains: [] }

/** The body that makes a channel with one ingest, one engine and one distribution. */
function bodyOf({ name, type, url, ladderId, countries, domains }: Draft) {
  const engines = [{ name: text.engineName, region: 'local', quality: { abrLadderId: ladderId } }]
  const ingest = { name: text.ingestName, type, region: 'local', engines, ...(isPush(type) ? {} : { url }) }
  const security = {
    ...(countries.length > 0 ? { geoBlocking: { enabled: true, mode: 'allow' as const, countries } } : {}),
    ...(domains.length > 0
      ? { refererBlocking: { enabled: true, allowedDomains: domains, allowNativeApps: false } }
      : {}),
  }
  return { name, ingests: [ingest], distributions: [{ name: text.distributionName, security }] }
}

/** Where the body has the rules of the distribution. */
const SECURITY = 'distributions[0].security'

/** Makes a channel in one step: name, source, ladder, security. */
export function NewChannelPage() {
  const [draft, setDraft] = useState(EMPTY)
  const change = (changes: Partial<Draft>): void => setDraft({ ...draft, ...changes })
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    const then = goLater()
    const made = await call(createChannel, { body: bodyOf(draft) })
    then(`/channels/${made.id}`)
  })
  const urlError = fields['ingests[0].url'] ?? fields['ingests.0.url']
  const countriesError = errorOf(fields, `${SECURITY}.geoBlocking.countries`, draft.countries)
  const domainsError = errorOf(fields, `${SECURITY}.refererBlocking.allowedDomains`, draft.domains)
  const isOfField = Boolean(fields['name'] ?? urlError ?? countriesError ?? domainsError)
  return (
    <Page title={text.title} sub={text.sub} crumb={{ text: words.channels.title, href: linkTo('/channels') }}>
      <form class="stack" onSubmit={onSubmit}>
        <Card
          title={text.title}
          foot={
            <>
              <Button look="primary" type="submit" isBusy={isBusy}>
                {text.submit}
              </Button>
              <LinkButton look="quiet" href={linkTo('/channels')}>
                {words.parts.cancel}
              </LinkButton>
            </>
          }
        >
          {error && !isOfField && <Notice kind="error">{error.message}</Notice>}
          <TextField
            label={text.name}
            required
            missing={words.problems.name}
            error={fields['name']}
            value={draft.name}
            onValue={(name) => change({ name })}
          />
          <Source draft={draft} change={change} error={urlError} />
          <Ladder draft={draft} change={change} />
          <div class="pair">
            <ChipsField
              label={text.countries}
              isOptional
              hint={text.countriesHint}
              error={countriesError}
              values={draft.countries}
              check={checkCountry}
              onValues={(countries) => change({ countries: countries.map((code) => code.toUpperCase()) })}
            />
            <ChipsField
              label={text.domains}
              isOptional
              hint={text.domainsHint}
              error={domainsError}
              values={draft.domains}
              onValues={(domains) => change({ domains })}
            />
          </div>
        </Card>
      </form>
    </Page>
  )
}

interface PartProps {
  readonly draft: Draft
  readonly change: (changes: Partial<Draft>) => void
}

function Source({ draft, change, error }: PartProps & { readonly error: string | undefined }) {
  const types = TYPES.map((type) => [type, text.types[type]] as const)
  return (
    <>
      <div class="field">
        <span class="label">{text.source}</span>
        <Segment label={text.source} choices={types} value={draft.type} onChange={(type) => change({ type })} />
        <span class="hint">{isPush(draft.type) ? text.pushHint : text.pullHint}</span>
      </div>
      {!isPush(draft.type) && (
        <TextField
          label={text.url}
          required
          placeholder={SAMPLES[draft.type]}
          error={error}
          value={draft.url}
          onValue={(url) => change({ url })}
        />
      )}
    </>
  )
}

function Ladder({ draft, change }: PartProps) {
  const ladders = useLoad((signal) => callPage(listLadders, { query: { limit: 100 } }, { signal }), [])
  const rows = ladders.data?.rows ?? []
  const chosen = rows.find(({ id }) => id === draft.ladderId)
  const hint = chosen && [text.renditions(variantsOf(chosen)), copyHint(chosen)].filter(Boolean).join(' ')
  if (ladders.error) return <LoadError error={ladders.error} onRetry={ladders.reload} />
  return (
    <SelectField
      label={text.ladder}
      hint={hint}
      value={draft.ladderId}
      choices={rows.map(({ id, name }) => [id, name] as const)}
      onValue={(ladderId) => change({ ladderId })}
    />
  )
}

/** What happens to the rendition that a ladder copies. */
const copyHint = ({ video: [first] }: AbrLadder): string => (first?.copy ? text.copied(first.label) : '')
