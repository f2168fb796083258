--- doctor_addresses.lua -- checks that the addresses of a server are free, or that the right server listens there.
--
-- `doctor` has: config (the description of the server), user (its user), and the methods found() and about().
local facts = require "facts"
local json = require "cli.lib.json"
local probe = require "probe"
local server = require "cli.lib.server"

local addresses = {}

-- The reply to each question identifies the program.  If vesta rejects the HTTP request, its reply is a problem object.
local QUESTIONS = {
  http = "GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
  resp = "INFO server\r\nQUIT\r\n",
}

local READY = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
local DETAIL_MAX = 600

local ASK_MS = 1000
local UNVERIFIED = { insecure = true } -- check_certificate judges the certificate

-- Asks the program that listens at an address.  Returns its reply, and why TLS ended or nil.  Returns nil and a text if
-- TLS or the connection failed.
local function ask(doctor, row)
  local question = QUESTIONS[row.protocol] or QUESTIONS.http
  local reply, trouble = server.ask(row.address, question, ASK_MS, UNVERIFIED)
  if reply == "" and doctor.config.proxies[1] and not row.is_tls then
    reply, trouble = server.ask(row.address, server.PROXY_LOCAL .. question, ASK_MS)
  end
  return reply, trouble
end

-- Returns whether a vesta server sent the reply, and its version or nil.
local function is_vesta(row, reply)
  if row.protocol == "resp" then
    local version = reply:match "vesta_version:([^\r\n]+)"
    return version ~= nil, version
  end
  local version = reply:match '^HTTP/1%.1 200 .*{"version":"([^"]+)"'
  return version ~= nil or reply:find '{"type":"[^"]*","title":.*"code":".*"detail":' ~= nil, version
end

local function text_of_process(process)
  if not process then return "another program" end
  if not process.name then return "a process of user " .. process.user end
  return ("%s (process %d of user %s)"):format(process.name, process.pid, process.user)
end

-- If the config requires credentials, and the reply fits a server that requires them, returns a name for these
-- credentials.  Returns nil otherwise.
local function is_guarded(doctor, row, reply, tls_trouble)
  local asks = doctor.config.tls and doctor.config.tls.asks
  if row.is_tls and asks == "required" and reply == "" and tls_trouble then return "a client certificate" end
  local is_closed = reply:find "^%-NOAUTH" or reply:find "^%-NOPERM"
  if row.protocol == "resp" and is_closed and (doctor.config.has_password or doctor.config.clients) then
    return "credentials"
  end
end

-- Reports the findings of the running server itself.  For example, only the server knows of a counter that went back.
local function check_ready(doctor, row)
  doctor.is_asked = true
  local reply = server.ask(row.address, READY, ASK_MS, UNVERIFIED)
  local status, body = (reply or ""):match "^HTTP/1%.1 (%d+) .-\r\n\r\n(.*)$"
  if not status then return end
  local answer, count = json.read(body), 0
  for _, name in ipairs { "reasons", "warnings" } do
    for _, reason in json.each(json.get(answer, name)) do
      count = count + 1
      local about = json.text(json.get(reason, "namespace")) .. json.text(json.get(reason, "tag"))
      doctor:found(name == "reasons" and "fail" or "warn", about ~= "" and about or row.protocol,
        "the running server reports: " .. json.text(json.get(reason, "detail"), DETAIL_MAX))
    end
  end
  if status == "503" and count == 0 then
    doctor:found("fail", row.protocol, "the running server is not ready", "look for the reason in its log")
  end
end

-- Reports that a vesta server listens at an address.  `note` is appended to "answers".
local function report_vesta(doctor, row, process, version, note)
  local found = doctor:about(row.protocol)
  if server.is_of_another_config(process, doctor.config) then
    return found("fail", "stop it, or choose another address for this one",
      "%s is in use by another server: %s, %s", row.address, text_of_process(process),
      process.config and "with -c " .. process.config or "which was started without a config")
  end
  local shown = process and process.name and text_of_process(process) or "a vesta server"
  local text = ("%s answers%s: %s"):format(row.address, note, shown)
  if process and process.config then
    text = ("%s is in use by the server of this config, which answers%s: %s"):format(row.address, note, shown)
  end
  if version and version ~= facts.VERSION then
    return found("warn", "restart the server, or run the doctor of its version",
      "%s, of version %s, and this doctor is of version %s", text, version, facts.VERSION)
  end
  found("ok", nil, "%s%s", text, row.is_local and "" or ", and other machines can reach it")
  if row.protocol ~= "resp" and not doctor.is_asked then check_ready(doctor, row) end
end

-- Reports whether the server can listen at an address without a listener.
local function check_free(doctor, row, trouble)
  local found = doctor:about(row.protocol)
  local blocked, todo = server.cannot_listen(doctor.user, row)
  if blocked then return found("fail", todo, "%s", blocked) end
  if server.is_made(doctor.user, server.folder_of(row.plain:match "^unix:(.*)" or "/")) then
    return found("ok", nil, "systemd creates the folder of %s", row.address)
  end
  if trouble then return found("fail", nil, "%s", trouble) end
  found("ok", nil, "%s is free%s", row.address, row.is_local and "" or ", and other machines can reach it")
end

-- Warns if the server presents a certificate other than the config's.  A running server reloads a changed certificate
-- by itself, so a difference means that reloading failed.
local function check_shown(doctor, row)
  local _, trouble = server.ask(row.address, QUESTIONS.http, ASK_MS, { pinned = doctor.config.tls.certificate })
  if not trouble or not trouble:find("certificate is rejected", 1, true) or trouble:find "expired" then return end
  doctor:found("warn", row.protocol, ("%s presents another certificate than %s"):format(row.address,
    doctor.config.tls.certificate), "read its log for the reason, and restart it if the config has changed")
end

local function check_address(doctor, row)
  local found = doctor:about(row.protocol)
  local reply, trouble = ask(doctor, row)
  local is_free, why_not = nil, nil
  if not reply then is_free, why_not = probe.free(row.address) end
  local process = not is_free and server.listener(row) or nil
  if not reply and not process then return check_free(doctor, row, why_not) end
  local is_ours, version = is_vesta(row, reply or "")
  if is_ours then
    report_vesta(doctor, row, process, version, row.is_tls and " over TLS" or "")
    if row.is_tls then check_shown(doctor, row) end
    return
  end
  local guard = is_guarded(doctor, row, reply or "", trouble)
  if guard and (not process or not process.name or process.name == "vesta") then
    return report_vesta(doctor, row, process, nil, (row.is_tls and " over TLS" or "") .. " and asks for " .. guard)
  end
  local is_vesta_process = process and process.name == "vesta"
  if is_vesta_process and reply and reply ~= "" then return report_vesta(doctor, row, process, nil, "") end
  if is_vesta_process then
    return found("fail", "restart it if the config has changed since its start, or else read its log",
      "%s listens at %s, but does not answer%s", text_of_process(process), row.address,
      trouble and ": " .. trouble or "")
  end
  found("fail", ("stop that program, or choose another address for %s.listen"):format(row.protocol),
    "%s is in use by %s", row.address, text_of_process(process))
end

function addresses.check(doctor)
  for _, row in ipairs(doctor.config.addresses) do check_address(doctor, row) end
end

return addresses
