//! What reviewers say in the threads of a request.

use super::request::text;
use super::{Forge, Kind};
use crate::error::Result;

/// What somebody has said in an unresolved thread of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The file that it is about.
    pub path: String,
    /// The line in it.
    pub line: Option<u64>,
    /// Who said it; empty if that account is gone.
    pub author: String,
    /// Whether the author may write to the repository.
    pub is_trusted: bool,
    /// What was said.
    pub text: String,
}

/// `gh` asks again with the cursor as long as there is a next page. A page inside of another has none.
const THREADS: &str = "query($owner:String!,$name:String!,$number:Int!,$endCursor:String){\
    repository(owner:$owner,name:$name){pullRequest(number:$number){reviewThreads(first:100,after:$endCursor){\
    pageInfo{hasNextPage endCursor} nodes{isResolved path line comments(first:100){nodes{\
    author{login} authorAssociation body}}}}}}}";

impl Forge {
    /// What is said in the unresolved threads of a request.
    pub fn remarks(&self, number: u64) -> Result<Vec<Remark>> {
        let number = number.to_string();
        let mut remarks = Vec::new();
        match self.kind {
            Kind::GitHub => {
                let (owner, name) = self.place.path.split_once('/').unwrap_or_default();
                let vars = [format!("owner={owner}"), format!("name={name}"), format!("number={number}")];
                let query = format!("query={THREADS}");
                let words = ["api", "graphql", "--paginate", "--hostname", &self.place.host, "-f", &query];
                let words = [&words[..], &["-f", &vars[0], "-f", &vars[1], "-F", &vars[2]]].concat();
                for thread in self.listed(&words, "/data/repository/pullRequest/reviewThreads/nodes")? {
                    let said = thread["comments"]["nodes"].as_array();
                    for said in said.into_iter().flatten().filter(|_| thread["isResolved"] == false) {
                        let trusted = ["OWNER", "MEMBER", "COLLABORATOR"];
                        remarks.push(Remark {
                            path: text(&thread["path"]),
                            line: thread["line"].as_u64(),
                            author: text(&said["author"]["login"]),
                            is_trusted: trusted.iter().any(|word| said["authorAssociation"] == *word),
                            text: text(&said["body"]),
                        });
                    }
                }
            }
            Kind::GitLab => {
                let project = self.place.path.replace('/', "%2F");
                let way = format!("projects/{project}/merge_requests/{number}/discussions?per_page=100");
                let threads = self.listed(&["api", "--paginate", "--hostname", &self.place.host, &way], "")?;
                let notes = threads.iter().filter_map(|thread| thread["notes"].as_array());
                for said in notes.flatten().filter(|said| said["resolvable"] == true && said["resolved"] == false) {
                    // Who may write to the repository, these answers do not tell.
                    remarks.push(Remark {
                        path: text(&said["position"]["new_path"]),
                        line: said["position"]["new_line"].as_u64(),
                        author: text(&said["author"]["username"]),
                        is_trusted: false,
                        text: text(&said["body"]),
                    });
                }
            }
        }
        Ok(remarks)
    }
}
