import { useState } from 'preact/hooks'
import { type Distribution, updateDistribution } from '#api/channels.ts'
import { call } from '../../api/call.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog, SubmitFoot } from '../../parts/dialog.tsx'
import { ChipsField, Segment, Toggle, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { channelWords } from '../../words/channelWords.ts'
import { words } from '../../words/words.ts'
import { checkCountry } from '../tokens/checks.ts'

const text = channelWords.channel

interface SecurityProps {
  readonly distribution: Distribution
  readonly onChanged: () => Promise<void>
}

/** The rules of a distribution: countries, addresses, sites. They are saved together. */
export function Security({ distribution, onChanged }: SecurityProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button size="small" onClick={() => setOpen(true)} of={distribution.name}>
        {text.security}
      </Button>
      {isOpen && <SecurityForm distribution={distribution} onChanged={onChanged} onClose={() => setOpen(false)} />}
    </>
  )
}

function SecurityForm({ distribution, onChanged, onClose }: SecurityProps & { readonly onClose: () => void }) {
  const { geoBlocking, ipBlocking, refererBlocking } = distribution.security
  const [geo, setGeo] = useState(geoBlocking)
  const [ip, setIp] = useState(ipBlocking)
  const [referer, setReferer] = useState(refererBlocking)
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    const security = { geoBlocking: geo, ipBlocking: ip, refererBlocking: referer }
    await call(updateDistribution, { path: { distributionId: distribution.id }, body: { security } })
    await onChanged()
    onClose()
  })
  const errorOf = (path: string): string | undefined =>
    Object.entries(fields).find(([field]) => field.startsWith(`security.${path}`))?.[1]
  return (
    <Dialog
      title={text.securityOf(distribution.name)}
      onClose={onClose}
      onSubmit={onSubmit}
      foot={<SubmitFoot verb={words.parts.save} isBusy={isBusy} onClose={onClose} />}
    >
      {error && errorOf('') === undefined && <Notice kind="error">{error.message}</Notice>}
      <Toggle label={text.limitCountries} isOn={geo.enabled} onChange={(enabled) => setGeo({ ...geo, enabled })} />
      {geo.enabled && (
        <>
          <Mode label={text.limitCountries} mode={geo.mode} onMode={(mode) => setGeo({ ...geo, mode })} />
          <ChipsField
            label={text.countries}
            check={checkCountry}
            error={errorOf('geoBlocking')}
            values={geo.countries}
            onValues={(countries) => setGeo({ ...geo, countries: countries.map((one) => one.toUpperCase()) })}
          />
        </>
      )}
      <Toggle label={text.limitAddresses} isOn={ip.enabled} onChange={(enabled) => setIp({ ...ip, enabled })} />
      {ip.enabled && (
        <>
          <Mode label={text.limitAddresses} mode={ip.mode} onMode={(mode) => setIp({ ...ip, mode })} />
          <ChipsField
            label={text.cidrs}
            error={errorOf('ipBlocking')}
            values={ip.cidrs}
            onValues={(cidrs) => setIp({ ...ip, cidrs })}
          />
        </>
      )}
      <Toggle
        label={text.limitSites}
        isOn={referer.enabled}
        onChange={(enabled) => setReferer({ ...referer, enabled })}
      />
      {referer.enabled && (
        <>
          <ChipsField
            label={text.sites}
            error={errorOf('refererBlocking')}
            values={referer.allowedDomains}
            onValues={(allowedDomains) => setReferer({ ...referer, allowedDomains })}
          />
          <Toggle
            looks="check"
            label={text.nativeApps}
            isOn={referer.allowNativeApps}
            onChange={(allowNativeApps) => setReferer({ ...referer, allowNativeApps })}
          />
        </>
      )}
    </Dialog>
  )
}

function Mode({
  label,
  mode,
  onMode,
}: {
  readonly label: string
  readonly mode: 'allow' | 'deny'
  readonly onMode: (mode: 'allow' | 'deny') => void
}) {
  const choices = [
    ['allow', text.allow],
    ['deny', text.deny],
  ] as const
  return <Segment label={label} choices={choices} value={mode} onChange={onMode} />
}
