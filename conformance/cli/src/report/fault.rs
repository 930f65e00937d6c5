//! A located fault as a page: one file that opens from disk.

use std::fmt::Write;

use super::html::{begin, escape};
use forensics::locate::{Call, Culprit, Located};

/// The page.
pub fn page(located: &Located) -> String {
    let mut page = begin("Assay locate", "");
    let verdict = match located.fault.as_ref().map(|fault| &fault.culprit) {
        None => "no fault".to_owned(),
        Some(Culprit::Kernel(call)) => format!("the kernel of {} faulted", call.op),
        Some(Culprit::Copy(copy)) => format!("the copy of {} faulted", copy.site.point),
        Some(Culprit::Start) => "the run failed before its first op".to_owned(),
    };
    let _ = writeln!(page, "<h1>Assay locate: {}</h1>", escape(&verdict));
    let _ = writeln!(page, "<p>backend <b>{}</b>, {} ops started</p>", escape(&located.backend), located.ops);
    let reported = located.reported.as_ref().map_or("no error", |error| &error.what);
    let _ = writeln!(page, "<p>the engine by itself reports: <code>{}</code></p>", escape(reported));
    if let Some(fault) = &located.fault {
        let (first, rest) = fault.what.split_once('\n').unwrap_or((&fault.what, ""));
        let _ = writeln!(page, "<section class=\"failure\">\n<h3>{}</h3>", escape(first));
        if !rest.is_empty() {
            let _ = writeln!(page, "<pre>{}</pre>", escape(rest));
        }
        match &fault.culprit {
            Culprit::Kernel(call) => {
                if let Some(late) = located.blames_another(call) {
                    let _ = writeln!(page, "<p>{}</p>", escape(late));
                }
                page.push_str(&arguments(call));
            }
            Culprit::Copy(copy) => {
                let (extent, owner) = (&copy.extent, escape(&copy.owner));
                let _ = writeln!(
                    page,
                    "<p>step {}, bytes {extent:?} of '{owner}'; every kernel before it ended well</p>",
                    copy.site.step
                );
            }
            Culprit::Start => {}
        }
        if let Some(capsule) = &fault.capsule {
            let _ = writeln!(page, "<pre>assay replay {}</pre>", escape(&capsule.display().to_string()));
        }
        page.push_str("</section>\n");
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn arguments(call: &Call) -> String {
    let mut text = String::new();
    if let Some(site) = &call.site {
        let _ = writeln!(
            text,
            "<p>{}, {}, op number {}</p>",
            escape(&call.op),
            escape(&site.to_string()),
            call.number
        );
    }
    text.push_str(
        "<div class=\"wide\"><table class=\"stack\"><thead><tr><th>operand</th><th>owner</th><th>use</th><th>type and shape</th>\
         <th>address</th><th>bytes</th><th>of</th></tr></thead>\n<tbody>\n",
    );
    for a in &call.arguments {
        let _ = writeln!(
            text,
            "<tr><td data-label=\"operand\">{}</td><td data-label=\"owner\">{}</td><td data-label=\"use\">{}</td>\
             <td data-label=\"type and shape\">{}</td><td data-label=\"address\">{}</td><td data-label=\"bytes\">{}..{}</td>\
             <td data-label=\"of\">{}</td></tr>",
            escape(&a.name),
            escape(&a.owner),
            format!("{:?}", a.role).to_lowercase(),
            escape(&a.layout),
            a.address.map_or("unknown".into(), |at| format!("{at:#x}")),
            a.extent.start,
            a.extent.end,
            a.allocation
        );
    }
    text.push_str("</tbody></table></div>\n");
    for (name, value) in &call.params {
        let _ = writeln!(text, "<p><code>{} = {}</code></p>", escape(name), escape(&value.to_string()));
    }
    let _ = writeln!(text, "<p>launch: {}</p>", escape(call.launched()));
    text
}
