//! A request, as each forge's program tells it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request as the forge tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Its number.
    pub number: u64,
    /// Its address.
    pub url: String,
    /// `open`, `closed` or `merged`.
    pub state: String,
    /// Its branch.
    pub head: String,
    /// The last commit of that.
    pub oid: String,
    /// The branch that it goes to.
    pub base: String,
    /// Whether its branch is in another repository.
    pub is_cross: bool,
    /// Whose repository that is.
    pub owner: String,
    /// The path of that repository, if we may push there.
    pub can_push_to: Option<String>,
    /// `passed`, `failed`, `pending` or `none`.
    pub ci: String,
    /// `approved`, `changes_requested`, `required` or `none`.
    pub review: String,
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub(super) fn from_gh(value: &Value) -> Request {
    let checks = value["statusCheckRollup"].as_array().cloned().unwrap_or_default();
    let (owner, name) = (text(&value["headRepositoryOwner"]["login"]), text(&value["headRepository"]["name"]));
    let can_push = value["maintainerCanModify"] == true && !owner.is_empty() && !name.is_empty();
    Request {
        number: value["number"].as_u64().unwrap_or_default(),
        url: text(&value["url"]),
        state: text(&value["state"]).to_lowercase(),
        head: text(&value["headRefName"]),
        oid: text(&value["headRefOid"]),
        base: text(&value["baseRefName"]),
        is_cross: value["isCrossRepository"] != false,
        can_push_to: can_push.then(|| format!("{owner}/{name}")),
        owner,
        ci: ci(&checks).to_owned(),
        review: match value["reviewDecision"].as_str() {
            Some("APPROVED") => "approved",
            Some("CHANGES_REQUESTED") => "changes_requested",
            Some("REVIEW_REQUIRED") => "required",
            _ => "none",
        }
        .to_owned(),
    }
}

/// What the checks of a commit say together.
fn ci(checks: &[Value]) -> &'static str {
    let result =
        |check: &Value| match (check["status"].as_str(), check["conclusion"].as_str().or(check["state"].as_str())) {
            (Some(status), _) if status != "COMPLETED" => "pending",
            (_, Some("SUCCESS" | "NEUTRAL" | "SKIPPED")) => "passed",
            (_, Some("PENDING" | "EXPECTED")) => "pending",
            _ => "failed",
        };
    let results: Vec<&str> = checks.iter().map(result).collect();
    ["failed", "pending", "passed"].into_iter().find(|word| results.contains(word)).unwrap_or("none")
}

pub(super) fn from_glab(value: &Value) -> Request {
    let state = text(&value["state"]);
    Request {
        number: value["iid"].as_u64().unwrap_or_default(),
        url: text(&value["web_url"]),
        state: if state == "opened" { "open".to_owned() } else { state },
        head: text(&value["source_branch"]),
        oid: text(&value["sha"]),
        base: text(&value["target_branch"]),
        is_cross: value["source_project_id"] != value["target_project_id"],
        ci: match value["head_pipeline"]["status"].as_str() {
            Some("success") => "passed",
            Some("failed" | "canceled") => "failed",
            Some(_) => "pending",
            None => "none",
        }
        .to_owned(),
        review: "none".to_owned(),
        ..Request::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_one_word() {
        let ci = |text: &str| ci(serde_json::from_str::<Value>(text).unwrap().as_array().unwrap());
        let (green, red) = (r#"{"status":"COMPLETED","conclusion":"SUCCESS"}"#, r#"{"state":"ERROR"}"#);
        let runs = r#"{"status":"IN_PROGRESS","conclusion":""}"#;
        assert_eq!((ci("[]"), ci(&format!("[{green}]"))), ("none", "passed"));
        assert_eq!((ci(&format!("[{green},{runs}]")), ci(&format!("[{runs},{green},{red}]"))), ("pending", "failed"));
    }
}
