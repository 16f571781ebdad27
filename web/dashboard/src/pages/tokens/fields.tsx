import type { ComponentChildren } from 'preact'
import { ChipsField, NumberField, TextField, Toggle } from '../../parts/form.tsx'
import { words } from '../../words/words.ts'
import {
  checkAddress,
  checkCountry,
  checkPriority,
  checkRendition,
  checkSite,
  checkStream,
  checkWhole,
} from './checks.ts'
import { CountriesField } from './countriesField.tsx'
import { allowsOrigin } from './origins.ts'
import { StreamsField } from './streamsField.tsx'
import { errorOf, flagsOf, type FormFlag, type TokenForm, type TokenKind } from './tokenForm.ts'

const text = words.tokens.form
const BIND_MOST = 2_147_483_647
const VIEWERS_MOST = 1_000_000
const DAYS_MOST = 365

export interface FieldsProps {
  readonly kind: TokenKind
  readonly form: TokenForm
  /** What the server says is wrong, by path in the body. */
  readonly errors: Readonly<Record<string, string>>
  readonly onForm: (form: TokenForm) => void
}

/** The rules of a token, as links to one of them name it. */
export type RuleName =
  | 'active'
  | 'expiry'
  | 'streams'
  | 'sites'
  | 'addresses'
  | 'bind'
  | 'countries'
  | 'viewers'
  | 'region'

/** A field that a link can lead to. */
function Rule({ name, children }: { readonly name: RuleName; readonly children: ComponentChildren }) {
  return (
    <div class="token-rule" data-rule={name}>
      {children}
    </div>
  )
}

/** Changes one field of the form. */
const setter =
  ({ form, onForm }: FieldsProps) =>
  <K extends keyof TokenForm>(field: K) =>
  (value: TokenForm[K]): void =>
    onForm({ ...form, [field]: value })

/** How many fields the page itself finds wrong. */
export function countWrong(form: TokenForm): number {
  const checks = [
    form.streams.some((entry) => checkStream(entry) !== null),
    form.allowedOrigins.some((entry) => checkSite(entry) !== null),
    form.allowedIpAddresses.some((entry) => checkAddress(entry) !== null),
    form.countries.some((entry) => checkCountry(entry) !== null),
    form.hlsRenditions.some((entry) => checkRendition(entry) !== null),
    checkWhole(form.bindIpsOnUsage, 0, BIND_MOST) !== null,
    checkWhole(form.maxViewers, 0, VIEWERS_MOST) !== null,
    checkWhole(form.recordingDays, 0, DAYS_MOST) !== null,
    checkPriority(form.priority) !== null,
  ]
  return checks.filter(Boolean).length
}

export function LabelField(props: FieldsProps & { readonly hint?: string }) {
  return (
    <TextField
      label={text.label}
      hint={props.hint}
      required
      missing={words.problems.label}
      maxLength={128}
      autocomplete="off"
      error={errorOf(props.errors, 'label')}
      value={props.form.label}
      onValue={setter(props)('label')}
    />
  )
}

export function StreamFields(props: FieldsProps) {
  const { form, errors } = props
  const error =
    errorOf(
      errors,
      'streams',
      form.streams.map(({ streamName }) => streamName),
    ) ??
    errorOf(errors, 'addTokenStreams') ??
    errorOf(errors, 'removeTokenStreams')
  return (
    <Rule name="streams">
      <StreamsField value={form.streams} error={error} onValue={setter(props)('streams')} />
    </Rule>
  )
}

/** From where a token may be used: sites, addresses, countries. */
export function PlaceFields(props: FieldsProps & { readonly bound?: ComponentChildren }) {
  const { kind, form, errors, bound } = props
  const set = setter(props)
  const limitsAddresses = form.allowedIpAddresses.length > 0 || Number(form.bindIpsOnUsage) > 0
  return (
    <>
      <Rule name="sites">
        <ChipsField
          label={text.sites}
          isOptional
          placeholder={text.sitesPlaceholder}
          hint={<SitesHint {...props} />}
          check={checkSite}
          error={errorOf(errors, 'allowedOrigins', form.allowedOrigins)}
          values={form.allowedOrigins}
          onValues={set('allowedOrigins')}
        />
      </Rule>
      <Rule name="addresses">
        <ChipsField
          label={text.addresses}
          isOptional
          placeholder={text.addressesPlaceholder}
          hint={kind === 'publish' && limitsAddresses ? text.rtmpRefused : text.addressesHint}
          check={checkAddress}
          error={errorOf(errors, 'allowedIpAddresses', form.allowedIpAddresses)}
          values={form.allowedIpAddresses}
          onValues={set('allowedIpAddresses')}
        />
      </Rule>
      <div class="pair">
        <Rule name="bind">
          <CountField
            {...props}
            field="bindIpsOnUsage"
            most={BIND_MOST}
            label={text.bind}
            unit={text.bindUnit}
            hint={bound ?? text.bindHint}
          />
        </Rule>
        <Rule name="countries">
          <CountriesField
            {...form}
            hint={text.countriesHint}
            errors={errors}
            onChange={(change) => props.onForm({ ...form, ...change })}
          />
        </Rule>
      </div>
      <Rule name="viewers">
        <CountField
          {...props}
          field="maxViewers"
          most={VIEWERS_MOST}
          label={text.maxViewers}
          unit={text.maxViewersUnit}
          hint={text.maxViewersHint[kind]}
        />
      </Rule>
    </>
  )
}

interface CountProps extends FieldsProps {
  readonly field: 'bindIpsOnUsage' | 'maxViewers' | 'recordingDays'
  readonly most: number
  readonly label: string
  readonly unit: string
  readonly hint: ComponentChildren
}

function CountField({ field, most, label, unit, hint, ...props }: CountProps) {
  const value = props.form[field]
  return (
    <NumberField
      label={label}
      isOptional
      hint={hint}
      problem={checkWhole(value, 0, most)}
      error={errorOf(props.errors, field)}
      unit={unit}
      value={value}
      onValue={setter(props)(field)}
    />
  )
}

/** The dashboard's own site counts like any other: without it, Go live is refused. */
function SitesHint(props: FieldsProps) {
  const { kind, form } = props
  const sites = form.allowedOrigins
  if (kind === 'subscribe' || sites.length === 0) return <>{text.sitesHint}</>
  if (allowsOrigin(sites, location.origin)) return <>{text.dashboardIncluded(location.host)}</>
  return (
    <>
      {text.dashboardMissing(location.host)}{' '}
      <button
        type="button"
        class="btn small"
        onClick={() => setter(props)('allowedOrigins')([...sites, location.host])}
      >
        {text.addDashboard}
      </button>
    </>
  )
}

/** What a token switches on. `SecureSwitch` stands elsewhere. */
export function SwitchFields(props: FieldsProps) {
  const names = flagsOf(props.kind).filter((name) => name !== 'subscribeRequiresAuth')
  return (
    <>
      <div class="pair">
        {names.map((name) => (
          <FlagSwitch key={name} name={name} {...props} />
        ))}
      </div>
      {props.kind === 'publish' && <RecordingDaysField {...props} />}
      {props.kind === 'publish' && <RegionFields {...props} />}
      {props.kind === 'publish' && <PriorityField {...props} />}
      {props.kind === 'publish' && <CodecsSwitch {...props} />}
      {props.kind === 'publish' && <RenditionsField {...props} />}
    </>
  )
}

export const SecureSwitch = (props: FieldsProps) => <FlagSwitch name="subscribeRequiresAuth" {...props} />

function FlagSwitch({ name, ...props }: FieldsProps & { readonly name: FormFlag }) {
  const { label, note } = text.switches[name]
  return (
    <Toggle
      label={label}
      note={typeof note === 'string' ? note : note[props.kind]}
      isOn={props.form[name]}
      onChange={setter(props)(name)}
    />
  )
}

const RecordingDaysField = (props: FieldsProps) => (
  <CountField
    {...props}
    field="recordingDays"
    most={DAYS_MOST}
    label={text.recordingDays}
    unit={text.recordingDaysUnit}
    hint={text.recordingDaysHint}
  />
)

const RegionFields = (props: FieldsProps) => (
  <>
    <Rule name="region">
      <TextField
        label={text.region}
        isOptional
        hint={text.regionHint}
        maxLength={64}
        error={errorOf(props.errors, 'originCluster')}
        value={props.form.originCluster}
        onValue={setter(props)('originCluster')}
      />
    </Rule>
    <ChipsField
      label={text.mediaRegions}
      isOptional
      hint={text.mediaRegionsHint}
      error={errorOf(props.errors, 'geoCascade.clusters', props.form.geoCascade) ?? errorOf(props.errors, 'geoCascade')}
      values={props.form.geoCascade}
      onValues={setter(props)('geoCascade')}
    />
  </>
)

const PriorityField = (props: FieldsProps) => (
  <TextField
    label={text.priority}
    isOptional
    hint={text.priorityHint}
    problem={checkPriority(props.form.priority)}
    error={errorOf(props.errors, 'priority')}
    value={props.form.priority}
    onValue={setter(props)('priority')}
  />
)

const CodecsSwitch = (props: FieldsProps) => (
  <Toggle
    label={text.hlsCodecs}
    note={text.hlsCodecsHint}
    isOn={props.form.hlsCodecs === 'source'}
    onChange={(isOn) => setter(props)('hlsCodecs')(isOn ? 'source' : 'h264')}
  />
)

function RenditionsField(props: FieldsProps) {
  const { form, errors } = props
  return (
    <ChipsField
      label={text.renditions}
      isOptional
      placeholder={text.renditionsPlaceholder}
      hint={text.renditionsHint}
      check={checkRendition}
      error={errorOf(errors, 'hlsRenditions', form.hlsRenditions)}
      values={form.hlsRenditions}
      onValues={setter(props)('hlsRenditions')}
    />
  )
}

export function TrackingField(props: FieldsProps) {
  return (
    <TextField
      label={text.trackingId}
      isOptional
      hint={text.trackingHint}
      maxLength={128}
      error={errorOf(props.errors, 'tracking')}
      value={props.form.trackingId}
      onValue={setter(props)('trackingId')}
    />
  )
}
